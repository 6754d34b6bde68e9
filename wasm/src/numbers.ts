// SPDX-License-Identifier: Apache-2.0
// Numbers on their way to the C ABI, where what does not fit would become another number.
import { TulleError } from './error.js';

/** Errors: invalid_argument for anything but a whole number from `min` to `max`. */
export function wholeNumber<Value extends number | bigint>(
  name: string,
  value: Value,
  min: number,
  max: number | bigint = Number.MAX_SAFE_INTEGER,
): Value {
  const isWhole = typeof value === 'bigint' || Number.isSafeInteger(value);
  if (isWhole && value >= min && value <= max) return value;
  throw new TulleError('invalid_argument', `${name} is ${value}; give a whole number from ${min} to ${max}`);
}

/** Errors: invalid_argument for what is no number of 32 bits. */
export function tokenIds(ids: ArrayLike<number>): Int32Array {
  return Int32Array.from(ids, (id) => wholeNumber('a token id', id, -(2 ** 31), 2 ** 31 - 1));
}
