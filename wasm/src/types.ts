// SPDX-License-Identifier: Apache-2.0
// The types of the package's interface.

/** A file: a URL, in Node also a path; a File or Blob; bytes (an ArrayBuffer is given away); or a stream of bytes. */
export type FileSource = string | URL | Blob | ArrayBuffer | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;

/**
 * A GGUF file; or a Hugging Face directory: a URL that ends in "/", in Node also a path. An array is the files of a
 * directory (File objects or URLs, one of them named config.json), one file cut in pieces, in order, or the parts of a
 * model that llama.cpp's gguf-split writes. The URL or path of NAME-00001-of-00003.gguf stands for all three parts.
 */
export type ModelSource = FileSource | readonly FileSource[];

export interface LoadProgress {
  readonly phase: 'download' | 'verify' | 'load';
  /** The file, or what the engine is doing. */
  readonly what: string;
  /** In [0, 1]; undefined while the size is unknown. */
  readonly fraction: number | undefined;
  readonly loadedBytes?: number;
  readonly totalBytes?: number;
}

export interface LoadOptions {
  /** Ends loading; what was downloaded is kept, and the next load goes on from there. */
  readonly signal?: AbortSignal | undefined;
  /** What it throws ends loading, and is what loadModel rejects with. */
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined;
  /** At most; 1 where the page is not cross-origin isolated. Default: half of the cores, at most 4. */
  readonly threads?: number | undefined;
  /** Whether downloads are kept; or the name of the folder that keeps them (in Node a path). Default: true. */
  readonly cache?: boolean | string | undefined;
  /** "sha256-..." (base64) or 64 hex digits; or several by the names of files of the model. Checked at every load. */
  readonly integrity?: string | Readonly<Record<string, string>> | undefined;
  /** KERNEL[/CACHE[/SAMPLER]], such as "dense_i8/paged_i8". Default: "auto". */
  readonly assembly?: string | undefined;
  /** Tokens that a session can hold. Default: the model's own, at most 4096. */
  readonly sequenceLength?: number | undefined;
  /** Which build runs. Default: the fastest that works here. */
  readonly variant?: Variant | undefined;
}

export type Variant = 'simd128' | 'relaxed';

export interface Message {
  readonly role: string;
  readonly content: string;
}

/** A text, the messages of a chat, or token ids. */
export type Prompt = string | readonly Message[] | Int32Array | readonly number[];

/** A value that is not set keeps the default of the C ABI: greedy, 100 tokens. */
export interface GenerateOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called while a long prompt is read: how much of it has been read, in [0, 1]. What it throws ends the call. */
  readonly onPromptProgress?: ((fraction: number) => void) | undefined;
  readonly maxNewTokens?: number | undefined;
  readonly minNewTokens?: number | undefined;
  /** 0 is greedy. A temperature or another setting of chance makes tokens be drawn. */
  readonly temperature?: number | undefined;
  readonly topK?: number | undefined;
  readonly topP?: number | undefined;
  readonly minP?: number | undefined;
  readonly typicalP?: number | undefined;
  readonly repetitionPenalty?: number | undefined;
  readonly presencePenalty?: number | undefined;
  readonly frequencyPenalty?: number | undefined;
  readonly noRepeatNgram?: number | undefined;
  /** The same seed draws the same text: from 0 to 2 ** 64 - 1. Default: 0. */
  readonly seed?: number | bigint | undefined;
  /** The text ends before the first of these. */
  readonly stop?: string | readonly string[] | undefined;
  /** "greedy", "hugging_face" or "llama_cpp": the order in which the settings of chance are applied. */
  readonly sampler?: string | undefined;
  readonly ignoreEos?: boolean | undefined;
  /** Ids that end the text in place of the model's own. */
  readonly eos?: readonly number[] | undefined;
  /**
   * Puts <s> and the like around the first text. Default: true. With false the text is an answer, as to messages: without
   * a space in front of its first word.
   */
  readonly addSpecialTokens?: boolean | undefined;
  readonly skipSpecialTokens?: boolean | undefined;
  readonly logProbabilities?: boolean | undefined;
  /**
   * What guesses tokens, which one pass of the model checks: faster where the guesses are right, with the same text.
   * "ngram" copies what followed the same words before; it pays where a text repeats its prompt. Default: nothing.
   */
  readonly draftModel?: 'ngram' | undefined;
  /** Tokens of a draft, at most 64. Default: 7. */
  readonly specLength?: number | undefined;
  /** Keeps the last logits for Session.logits(). */
  readonly keepLogits?: boolean | undefined;
}

/** What a step of generation adds. All texts put together are the text. */
export interface Piece {
  /** Whole code points; may be empty. */
  readonly text: string;
  /** -1 when the text ended without a token. */
  readonly token: number;
  /** Under the raw logits; 0 unless requested. */
  readonly logProbability: number;
}

export type FinishReason = 'stop' | 'length' | 'capacity' | 'cancelled';

export interface GenerationResult {
  readonly text: string;
  readonly tokens: Int32Array;
  readonly finishReason: FinishReason;
  readonly usage: {
    readonly promptTokens: number;
    /** Of them, those whose keys and values were still there. */
    readonly cachedTokens: number;
    readonly completionTokens: number;
    /** Guessed, see `draftModel`. */
    readonly draftTokens: number;
    /** Of them, those that are in the text. */
    readonly acceptedDraftTokens: number;
  };
  readonly timings: {
    readonly prefillMs: number;
    readonly decodeMs: number;
    readonly prefillTokensPerSecond: number;
    readonly decodeTokensPerSecond: number;
  };
}

export interface ModelInfo {
  /** Of all matrices, as they are packed in memory. */
  readonly weightBytes: number;
  /** Logits of a position. */
  readonly vocabulary: number;
  /** The tokenizer's; 0 without a tokenizer. */
  readonly tokens: number;
  readonly contextLength: number;
  readonly layers: number;
  readonly hidden: number;
  /** -1 where there is none. */
  readonly bos: number;
  readonly eos: number;
  readonly hasTokenizer: boolean;
  readonly hasChatTemplate: boolean;
}

/** How the model runs here. */
export interface Runtime {
  readonly version: string;
  readonly variant: Variant;
  readonly threads: number;
  /** Why there is one thread although more were requested. */
  readonly threadsNote?: string;
  /** Whether the whole model came from the cache. */
  readonly fromCache: boolean;
  readonly loadMs: number;
}

export interface SessionOptions {
  /** Tokens it can hold. Default: that of the model. */
  readonly sequenceLength?: number | undefined;
  /** "contiguous", "sliding" or "paged", perhaps with an element: "paged_i8". Default: that of the assembly. */
  readonly cache?: string | undefined;
  /** Of a sliding cache. */
  readonly window?: number | undefined;
  readonly sinks?: number | undefined;
}

export interface EncodeOptions {
  readonly addSpecialTokens?: boolean | undefined;
  /** "<|endoftext|>" in the text is text like any other. */
  readonly plainText?: boolean | undefined;
}

export interface DecodeOptions {
  readonly skipSpecialTokens?: boolean | undefined;
}
