// SPDX-License-Identifier: Apache-2.0
// A module that wasm/native builds; "npm run build" puts it beside the compiled sources.
import type { ModuleFactory } from '../worker/native_module.js';
declare const factory: ModuleFactory;
export default factory;
