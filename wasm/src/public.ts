// SPDX-License-Identifier: Apache-2.0
// What both entries export.
export { TulleError, type TulleErrorCode } from './error.js';
export { Generation } from './generation.js';
export { Model } from './model.js';
export { Session } from './session.js';
export type {
  DecodeOptions,
  EncodeOptions,
  FileSource,
  FinishReason,
  GenerateOptions,
  GenerationResult,
  LoadOptions,
  LoadProgress,
  Message,
  ModelInfo,
  ModelSource,
  Piece,
  Prompt,
  Runtime,
  SessionOptions,
  Variant,
} from './types.js';
