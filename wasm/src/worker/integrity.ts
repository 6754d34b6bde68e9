// SPDX-License-Identifier: Apache-2.0
// Whether a file is the one that was meant.
import { TulleError } from '../error.js';
import type { OpenFile } from './open_file.js';
import { Sha256 } from './sha256.js';

export type Integrity = string | Readonly<Record<string, string>> | undefined;

/** What is expected of a file: 64 lower-case hex digits, or undefined. Errors: invalid_argument. */
export function expectedHash(integrity: Integrity, name: string): string | undefined {
  const given = typeof integrity === 'string' ? integrity : integrity?.[name];
  if (given === undefined) return undefined;
  const text = given.replace(/^sha256-/i, '');
  if (/^[0-9a-f]{64}$/i.test(text)) return text.toLowerCase();
  if (/^[A-Za-z0-9+/]{43}=$/.test(text)) return hex(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)));
  throw new TulleError(
    'invalid_argument',
    `integrity of ${name} is "${given}"; give "sha256-" and base64, or 64 hex digits`,
  );
}

/** Errors: invalid_argument for a name that no file has: its hash would never be compared. */
export function checkNames(integrity: Integrity, names: readonly string[]): void {
  if (typeof integrity === 'string') return;
  const unknown = Object.keys(integrity ?? {}).filter((name) => !names.includes(name));
  if (unknown.length === 0) return;
  throw new TulleError(
    'invalid_argument',
    `integrity has a hash of ${unknown.join(', ')}; the files of this model are ${names.join(', ')}`,
  );
}

export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Errors: integrity. `pause` is called between pieces, so that messages are received; it throws to end. */
export async function checkHash(
  file: OpenFile,
  expected: string,
  report: (done: number) => void,
  pause: () => Promise<void>,
): Promise<void> {
  const hash = new Sha256();
  const buffer = new Uint8Array(1 << 21);
  for (let offset = 0; offset < file.size; offset += buffer.length) {
    const part = buffer.subarray(0, Math.min(buffer.length, file.size - offset));
    file.read(part, offset);
    hash.update(part);
    report(offset + part.length);
    await pause();
  }
  const found = hex(hash.digest());
  if (found === expected) return;
  throw new TulleError(
    'integrity',
    `${file.name} is not the file that was meant: its SHA-256 is ${found}, not ${expected}`,
  );
}
