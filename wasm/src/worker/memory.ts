// SPDX-License-Identifier: Apache-2.0
// Values in the engine's memory.
import { TulleError } from '../error.js';
import { tokenIds, wholeNumber } from '../numbers.js';
import type { NativeModule } from './native_module.js';
import { type FieldName, type Layout, layoutOf, type StructName } from './structs.js';

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true }); // which keeps a leading U+FEFF
const ranges = { u64: [0, 2n ** 64n - 1n], i32: [-(2 ** 31), 2 ** 31 - 1], u32: [0, 2 ** 32 - 1] } as const;
const layouts = new Map<StructName, Layout>();

export function textOf(utf8: ArrayBuffer | Uint8Array<ArrayBuffer>): string {
  return decoder.decode(utf8);
}

function knownLayout(name: StructName): Layout {
  let layout = layouts.get(name);
  if (!layout) layouts.set(name, (layout = layoutOf(name)));
  return layout;
}

/** The memory moves when it grows: views are made for every use. */
export class Memory {
  readonly module: NativeModule;

  constructor(module: NativeModule) {
    this.module = module;
  }

  bytes(address: number, size: number): Uint8Array {
    return new Uint8Array(this.module.wasmMemory.buffer, address >>> 0, size >>> 0);
  }

  view(): DataView {
    return new DataView(this.module.wasmMemory.buffer);
  }

  /** UTF-8; a decoder takes no shared memory, so it gets a copy. */
  text(address: number, size: number): string {
    return textOf(this.bytes(address, size).slice());
  }

  /** Runs `action` with memory that is given back when it ends. Errors: out_of_memory. */
  scoped<Result>(action: (scope: Scope) => Result): Result {
    const scope = new Scope(this);
    try {
      return action(scope);
    } finally {
      scope.free();
    }
  }
}

/** Memory that lives as long as a call. */
export class Scope {
  readonly memory: Memory;
  readonly #addresses: number[] = [];

  constructor(memory: Memory) {
    this.memory = memory;
  }

  /** Bytes of value 0. */
  allocate(size: number): number {
    const address = this.memory.module._malloc(Math.max(size, 1)) >>> 0;
    if (address === 0) throw new TulleError('out_of_memory', `${size} bytes are not free in the engine's memory`);
    this.#addresses.push(address);
    this.memory.bytes(address, size).fill(0);
    return address;
  }

  text(text: string): { address: number; size: number } {
    return this.copy(encoder.encode(text));
  }

  copy(bytes: Uint8Array): { address: number; size: number } {
    const address = this.allocate(bytes.length);
    this.memory.bytes(address, bytes.length).set(bytes);
    return { address, size: bytes.length };
  }

  /** Errors: invalid_argument. */
  tokens(ids: ArrayLike<number>): { address: number; size: number } {
    const array = tokenIds(ids);
    return { address: this.copy(new Uint8Array(array.buffer)).address, size: array.length };
  }

  /** One struct, or several in a row; with its struct_size set where it has one. */
  struct<Name extends StructName>(name: Name, count = 1): Struct<Name> {
    const layout = knownLayout(name);
    const struct = new Struct<Name>(this, layout, this.allocate(layout.size * count));
    if ('struct_size' in layout.fields) struct.set('struct_size' as FieldName<Name>, layout.size);
    return struct;
  }

  free(): void {
    for (const address of this.#addresses.splice(0)) this.memory.module._free(address);
  }
}

export class Struct<Name extends StructName> {
  readonly address: number;
  readonly #scope: Scope;
  readonly #layout: Layout;

  constructor(scope: Scope, layout: Layout, address: number) {
    this.#scope = scope;
    this.#layout = layout;
    this.address = address;
  }

  get size(): number {
    return this.#layout.size;
  }

  /** Struct number `index` of those in a row. */
  at(index: number): Struct<Name> {
    return new Struct(this.#scope, this.#layout, this.address + index * this.size);
  }

  /** Errors: invalid_argument for a number that the field cannot hold. */
  set(field: FieldName<Name>, value: number | bigint | string): void {
    const { offset, kind } = this.#layout.fields[field]!;
    const at = this.address + offset;
    if (kind === 'string') {
      const { address, size } = this.#scope.text(String(value));
      const view = this.#scope.memory.view();
      view.setUint32(at, address, true);
      view.setUint32(at + 4, size, true);
      return;
    }
    const view = this.#scope.memory.view();
    if (kind === 'f64') return view.setFloat64(at, Number(value), true);
    if (kind === 'f32') return view.setFloat32(at, Number(value), true);
    const option = field.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
    const [min, max] = kind === 'u64' || kind === 'i32' ? ranges[kind] : ranges.u32;
    const whole = wholeNumber(option, value as number | bigint, min, max);
    if (kind === 'u64') view.setBigUint64(at, BigInt(whole), true);
    else view.setInt32(at, Number(whole), true);
  }

  number(field: FieldName<Name>): number {
    const { offset, kind } = this.#layout.fields[field]!;
    const view = this.#scope.memory.view();
    const at = this.address + offset;
    if (kind === 'u64') return Number(view.getBigUint64(at, true));
    if (kind === 'f64') return view.getFloat64(at, true);
    if (kind === 'f32') return view.getFloat32(at, true);
    return kind === 'i32' ? view.getInt32(at, true) : view.getUint32(at, true);
  }

  /** Of a string, or of characters that end with 0. */
  text(field: FieldName<Name>): string {
    const { offset, kind } = this.#layout.fields[field]!;
    const memory = this.#scope.memory;
    const at = this.address + offset;
    if (kind === 'string') return memory.text(memory.view().getUint32(at, true), memory.view().getUint32(at + 4, true));
    const characters = memory.bytes(at, Number(/\d+/.exec(kind)![0]));
    return memory.text(at, characters.indexOf(0));
  }
}
