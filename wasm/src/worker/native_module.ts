// SPDX-License-Identifier: Apache-2.0
// What the modules of wasm/native export: the C ABI with addresses as numbers.

export interface NativeModule {
  readonly wasmMemory: WebAssembly.Memory;
  /** Of threaded builds. */
  readonly PThread?: {
    readonly unusedWorkers: unknown[];
    allocateUnusedWorker(): void;
    loadWasmModuleToWorker(worker: unknown): Promise<unknown>;
  };
  /** 0, or a number when it could not be read. */
  hostRead: (file: number, offset: number, address: number, size: number) => number;
  /** 0; anything else ends loading. */
  hostProgress: (context: number, what: number, whatSize: number, fraction: number) => number;

  _malloc(size: number): number;
  _free(address: number): void;
  _tulle_version(): number;
  _tulle_status_name(status: number): number;
  _tulle_live_handles(): bigint;
  _tulle_host_load(
    names: number,
    sizes: number,
    count: number,
    assembly: number,
    assemblySize: number,
    model: number,
    error: number,
  ): number;
  _tulle_model_describe(model: number, info: number, error: number): number;
  _tulle_encode(
    model: number,
    text: number,
    textSize: number,
    flags: number,
    tokens: number,
    capacity: number,
    size: number,
    error: number,
  ): number;
  _tulle_decode(
    model: number,
    tokens: number,
    count: number,
    flags: number,
    text: number,
    capacity: number,
    size: number,
    error: number,
  ): number;
  _tulle_chat_prompt(
    model: number,
    messages: number,
    count: number,
    flags: number,
    text: number,
    capacity: number,
    size: number,
    error: number,
  ): number;
  _tulle_session_options_init(options: number, size: number): number;
  _tulle_session_new(model: number, options: number, session: number, error: number): number;
  _tulle_session_free(session: number): number;
  _tulle_session_draft(session: number, drafter: number, drafterSize: number, maxTokens: number, error: number): number;
  _tulle_session_timings(session: number, timings: number, error: number): number;
  _tulle_session_fork(session: number, copy: number, error: number): number;
  _tulle_generate_options_init(options: number, size: number): number;
  _tulle_session_generate_tokens(
    session: number,
    tokens: number,
    count: number,
    options: number,
    error: number,
  ): number;
  _tulle_session_cancel(session: number): number;
  _tulle_session_next(session: number, token: number, error: number): number;
  _tulle_session_history(session: number, tokens: number, capacity: number, size: number, error: number): number;
  _tulle_session_logits(session: number, logits: number, capacity: number, size: number, error: number): number;
  _tulle_session_truncate(session: number, length: number, error: number): number;
  _tulle_session_save(session: number, bytes: number, capacity: number, size: number, error: number): number;
  _tulle_session_restore(session: number, bytes: number, size: number, error: number): number;
}

/** What is given to a module when it is made. */
export interface ModuleArguments {
  wasmBinary: Uint8Array;
  /** Helper threads that are made at the start. */
  poolSize: number;
  locateFile?: (path: string) => string;
}

export type ModuleFactory = (options: ModuleArguments) => Promise<NativeModule>;
