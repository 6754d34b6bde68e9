// SPDX-License-Identifier: Apache-2.0
// Chooses the build. An engine may accept a build and compute wrong results, so builds are chosen by tests with known
// results.
import { TulleError } from '../error.js';
import type { Variant } from '../types.js';

/**
 * (module (func (export "f") (param i64 i64 i32) (result i32)
 *   (i32x4.extract_lane 0
 *     (OPERATION (i64x2.splat (local.get 0)) (i64x2.splat (local.get 1)) (i32x4.splat (local.get 2))))))
 */
function probe(operation: readonly number[]): Uint8Array<ArrayBuffer> {
  const body = [
    0x00, // no locals
    0x20,
    0x00,
    0xfd,
    0x12, // local.get 0, i64x2.splat
    0x20,
    0x01,
    0xfd,
    0x12, // local.get 1, i64x2.splat
    0x20,
    0x02,
    0xfd,
    0x11, // local.get 2, i32x4.splat
    ...operation,
    0xfd,
    0x1b,
    0x00, // i32x4.extract_lane 0
    0x0b,
  ];
  const section = (id: number, bytes: readonly number[]) => [id, bytes.length, ...bytes];
  return Uint8Array.from([
    0x00,
    0x61,
    0x73,
    0x6d,
    0x01,
    0x00,
    0x00,
    0x00,
    ...section(1, [1, 0x60, 3, 0x7e, 0x7e, 0x7f, 1, 0x7f]), // (i64, i64, i32) -> i32
    ...section(3, [1, 0]),
    ...section(7, [1, 1, 0x66, 0, 0]), // export "f"
    ...section(10, [1, body.length, ...body]),
  ]);
}

const exactDot = probe([0x1a, 0xfd, 0xba, 0x01]); // drop the sum; i32x4.dot_i16x8_s
const relaxedDot = probe([0xfd, 0x93, 0x02]); // i32x4.relaxed_dot_i8x16_i7x16_add_s

/** A dot product of the lowest 32 bits of a and b, in bytes or in words of 16 bits, plus `sum`. */
export type Dot = (a: bigint, b: bigint, sum: number) => number;

/** The first call of a new instance: Node 20's quick compiler doubles relaxed products, its slow one does not. */
function firstCall(module: WebAssembly.Module, a: bigint, b: bigint, sum: number): number {
  return (new WebAssembly.Instance(module).exports.f as Dot)(a, b, sum);
}

function bytes(values: readonly number[]): bigint {
  return values.reduceRight((whole, value) => (whole << 8n) | BigInt(value & 255), 0n);
}

/** Signed bytes, bytes of either signedness, and initial sums: the extreme values of each. */
const dots: readonly (readonly [readonly number[], readonly number[], number])[] = [
  [[1, 1, 1, 1], [1, 1, 1, 1], 0],
  [[127, 127, 127, 127], [255, 255, 255, 255], 5],
  [[127, 127, 127, 127], [128, 128, 128, 128], -7],
  [[-128, -128, -128, -128], [255, 255, 255, 255], 0],
  [[-128, 127, -1, 3], [0, 128, 127, 254], 1 << 20],
];

function hasSimd128(): boolean {
  if (!WebAssembly.validate(exactDot)) return false;
  return firstCall(new WebAssembly.Module(exactDot), 0xfffe_0003n, 0x0007_0005n, 0) === 3 * 5 - 2 * 7;
}

/**
 * Whether relaxed dot products are exact, with the second operand's bytes signed or unsigned. They are where the CPU
 * has an instruction for them and the engine uses it; emulations add pairs of products in 16 bits.
 */
export function areExact(dot: Dot): boolean {
  return [(byte: number) => byte, (byte: number) => (byte << 24) >> 24].some((value) =>
    dots.every(([a, b, sum]) => {
      const expected = a.reduce((total, each, index) => total + each * value(b[index]!), sum);
      return dot(bytes(a), bytes(b), sum) === expected;
    }),
  );
}

function hasExactRelaxedDots(): boolean {
  if (!WebAssembly.validate(relaxedDot)) return false;
  const module = new WebAssembly.Module(relaxedDot);
  return areExact((a, b, sum) => firstCall(module, a, b, sum));
}

/** The fastest build that works, or the one asked for. Errors: unsupported. */
export function chooseVariant(wanted: Variant | undefined): Variant {
  if (!hasSimd128()) {
    throw new TulleError('unsupported', 'this browser has no WebAssembly SIMD; use one of 2023 or later');
  }
  const relaxed = hasExactRelaxedDots();
  if (wanted === 'relaxed' && !relaxed) {
    throw new TulleError('unsupported', 'relaxed WebAssembly SIMD is missing or not exact here; leave `variant` away');
  }
  return wanted ?? (relaxed ? 'relaxed' : 'simd128');
}
