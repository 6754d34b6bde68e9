// SPDX-License-Identifier: Apache-2.0
// The messages between the page and the worker of an engine.
import type {
  DecodeOptions,
  EncodeOptions,
  GenerateOptions,
  GenerationResult,
  LoadProgress,
  Message,
  ModelInfo,
  Piece,
  Runtime,
  SessionOptions,
  Variant,
} from './types.js';

/** A source as it goes to the worker. */
export type WorkerFile =
  | { readonly kind: 'url'; readonly name: string; readonly url: string }
  | { readonly kind: 'path'; readonly name: string; readonly path: string }
  | { readonly kind: 'descriptor'; readonly name: string; readonly descriptor: number } // open in this process
  | { readonly kind: 'blob'; readonly name: string; readonly blob: Blob }
  | { readonly kind: 'bytes'; readonly name: string; readonly bytes: Uint8Array };

export type WorkerSource =
  | { readonly kind: 'file'; readonly file: WorkerFile }
  | { readonly kind: 'pieces'; readonly pieces: readonly WorkerFile[] }
  | { readonly kind: 'directory'; readonly files: readonly WorkerFile[] }
  | { readonly kind: 'directory_url'; readonly url: string };

export interface LoadRequest {
  readonly source: WorkerSource;
  /** The folder of the cache; null keeps nothing. */
  readonly cache: string | null;
  readonly integrity: string | Readonly<Record<string, string>> | undefined;
  readonly assembly: string;
  readonly threads: number | undefined;
  readonly sequenceLength: number | undefined;
  readonly variant: Variant | undefined;
}

export interface Loaded {
  readonly info: ModelInfo;
  readonly runtime: Runtime;
}

export type WorkerPrompt =
  { readonly text: string } | { readonly messages: readonly Message[] } | { readonly tokens: Int32Array };

/** Session 0 is that of Model.generate. */
export interface GenerateRequest {
  readonly session: number;
  readonly prompt: WorkerPrompt;
  /** Whether the prompt follows the history, or is a whole text; the part shared with the history is kept. */
  readonly append: boolean;
  readonly options: Omit<GenerateOptions, 'signal' | 'onPromptProgress'>;
}

/** The calls to a worker: argument and answer. */
export interface Calls {
  load: { argument: LoadRequest; answer: Loaded };
  memory: { argument: null; answer: number };
  encode: { argument: { text: string; options: EncodeOptions }; answer: Int32Array };
  decode: { argument: { tokens: Int32Array; options: DecodeOptions }; answer: string };
  chatPrompt: { argument: { messages: readonly Message[]; addGenerationPrompt: boolean }; answer: string };
  generate: { argument: GenerateRequest; answer: GenerationResult };
  sessionNew: { argument: SessionOptions; answer: number };
  sessionFree: { argument: number; answer: null };
  sessionFork: { argument: number; answer: number };
  sessionHistory: { argument: number; answer: Int32Array };
  sessionLogits: { argument: number; answer: Float32Array };
  sessionTruncate: { argument: { session: number; length: number }; answer: null };
  sessionSave: { argument: number; answer: Uint8Array };
  sessionRestore: { argument: { session: number; bytes: Uint8Array }; answer: null };
}

export type CallName = keyof Calls;

/** What comes before the answer of load and generate. */
export type WorkerEvent =
  { readonly progress: LoadProgress } | { readonly promptFraction: number } | { readonly pieces: readonly Piece[] };

export type ToWorker =
  { readonly id: number; readonly call: CallName; readonly argument: unknown } | { readonly cancel: number };

export type FromWorker =
  | { readonly id: number; readonly event: WorkerEvent }
  | { readonly id: number; readonly answer: unknown }
  | { readonly id: number; readonly failure: { readonly code: string; readonly message: string } };

/** A worker of either platform, as the page sees it. */
export interface WorkerLike {
  post(message: ToWorker, transfer: readonly Transferable[]): void;
  listen(onMessage: (message: FromWorker) => void, onFailure: (reason: string) => void): void;
  /** Whether the program stays alive for it. */
  hold(on: boolean): void;
  terminate(): void;
}
