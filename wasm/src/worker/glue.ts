// SPDX-License-Identifier: Apache-2.0
// Emscripten's part of the modules. It is the same for all instruction sets, which the build checks.
import single from '../wasm/tulle-simd128.mjs';
import threaded from '../wasm/tulle-simd128-threads.mjs';
import type { ModuleFactory } from './native_module.js';

export function glue(threads: boolean): ModuleFactory {
  return threads ? threaded : single;
}
