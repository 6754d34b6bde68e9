// SPDX-License-Identifier: Apache-2.0
// Errors: each says what was wrong and what to do.

/** The status names of the C ABI, and the codes of this package alone. */
export type TulleErrorCode =
  | 'invalid_argument'
  | 'state'
  | 'invalid_handle'
  | 'busy'
  | 'io'
  | 'malformed'
  | 'unsupported'
  | 'not_found'
  | 'capacity'
  | 'out_of_memory'
  | 'buffer_too_small'
  | 'cancelled'
  | 'internal'
  | 'network' // the server cannot be reached, or answers with a failure
  | 'integrity' // the bytes are not those that the hash was made of
  | 'quota' // the browser gives this site too little storage
  | 'evicted' // the browser deleted the stored model while it was read
  | 'disposed'; // the model or session was disposed of

export class TulleError extends Error {
  override readonly name = 'TulleError';
  readonly code: TulleErrorCode;

  constructor(code: TulleErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The text of whatever was thrown. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
