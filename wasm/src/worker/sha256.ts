// SPDX-License-Identifier: Apache-2.0
// SHA-256 piece by piece (FIPS 180-4), which browsers do not offer.

/** The first 32 bits of the fractional parts of `root` of the first primes. */
function primeRoots(count: number, root: (value: number) => number): number[] {
  const found: number[] = [];
  for (let candidate = 2; found.length < count; ++candidate) {
    let divisor = 2;
    while (divisor * divisor <= candidate && candidate % divisor !== 0) ++divisor;
    if (divisor * divisor > candidate) found.push(((root(candidate) % 1) * 2 ** 32) | 0);
  }
  return found;
}

const constants = Int32Array.from(primeRoots(64, Math.cbrt));
const start = primeRoots(8, Math.sqrt);

export class Sha256 {
  readonly #state = Int32Array.from(start);
  readonly #words = new Int32Array(64);
  readonly #rest = new Uint8Array(64); // of an incomplete block
  #size = 0;

  update(bytes: Uint8Array): this {
    let at = 0;
    const filled = this.#size % 64;
    this.#size += bytes.length;
    if (filled > 0) {
      at = Math.min(64 - filled, bytes.length);
      this.#rest.set(bytes.subarray(0, at), filled);
      if (filled + at < 64) return this;
      this.#block(this.#rest, 0);
    }
    for (; at + 64 <= bytes.length; at += 64) this.#block(bytes, at);
    this.#rest.set(bytes.subarray(at));
    return this;
  }

  /** Ends it. */
  digest(): Uint8Array {
    const bits = this.#size * 8;
    const padding = new Uint8Array(((119 - (this.#size % 64)) % 64) + 9);
    padding[0] = 0x80;
    const view = new DataView(padding.buffer);
    view.setUint32(padding.length - 8, Math.floor(bits / 2 ** 32));
    view.setUint32(padding.length - 4, bits >>> 0);
    this.update(padding);
    const digest = new Uint8Array(32);
    this.#state.forEach((word, index) => new DataView(digest.buffer).setInt32(index * 4, word));
    return digest;
  }

  #block(bytes: Uint8Array, at: number): void {
    const w = this.#words;
    for (let i = 0; i < 16; ++i, at += 4) {
      w[i] = (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!;
    }
    for (let i = 16; i < 64; ++i) {
      const a = w[i - 15]!;
      const b = w[i - 2]!;
      const sigma0 = ((a >>> 7) | (a << 25)) ^ ((a >>> 18) | (a << 14)) ^ (a >>> 3);
      const sigma1 = ((b >>> 17) | (b << 15)) ^ ((b >>> 19) | (b << 13)) ^ (b >>> 10);
      w[i] = (w[i - 16]! + sigma0 + w[i - 7]! + sigma1) | 0;
    }
    const state = this.#state;
    let a = state[0]!,
      b = state[1]!,
      c = state[2]!,
      d = state[3]!;
    let e = state[4]!,
      f = state[5]!,
      g = state[6]!,
      h = state[7]!;
    for (let i = 0; i < 64; ++i) {
      const sum1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const first = (h + sum1 + ((e & f) ^ (~e & g)) + constants[i]! + w[i]!) | 0;
      const sum0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const second = (sum0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + first) | 0;
      d = c;
      c = b;
      b = a;
      a = (first + second) | 0;
    }
    state[0]! += a;
    state[1]! += b;
    state[2]! += c;
    state[3]! += d;
    state[4]! += e;
    state[5]! += f;
    state[6]! += g;
    state[7]! += h;
  }
}
