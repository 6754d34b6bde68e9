// SPDX-License-Identifier: Apache-2.0
// How functions of the C ABI are called: sizes are asked for, handles are read, a status becomes an error.
import { TulleError, type TulleErrorCode } from '../error.js';
import { Memory, type Scope } from './memory.js';
import type { NativeModule } from './native_module.js';

const ok = 0;
const bufferTooSmall = 22;

type Variable = (buffer: number, capacity: number, size: number, error: number) => number;

export class NativeCalls {
  protected readonly module: NativeModule;
  protected readonly memory: Memory;

  constructor(module: NativeModule) {
    this.module = module;
    this.memory = new Memory(module);
  }

  protected handle(scope: Scope, make: (out: number, error: number) => number): number {
    const out = scope.allocate(4);
    this.check(scope, (error) => make(out, error));
    return this.memory.view().getUint32(out, true);
  }

  /** Asks for the size, then for the values: a copy of `width` bytes each. */
  protected variable(scope: Scope, width: number, call: Variable): ArrayBuffer {
    const size = scope.allocate(4);
    this.check(scope, (error) => call(0, 0, size, error), bufferTooSmall);
    const count = this.memory.view().getUint32(size, true);
    const buffer = scope.allocate(count * width);
    this.check(scope, (error) => call(buffer, count, size, error));
    return this.memory.bytes(buffer, count * width).slice().buffer as ArrayBuffer;
  }

  /** Errors: a status other than 0 and `allowed`. */
  protected check(scope: Scope, call: (error: number) => number, allowed = ok): number {
    const error = scope.struct('tulle_error');
    const status = call(error.address);
    if (status === ok || status === allowed) return status;
    const code = this.constant(this.module._tulle_status_name(status)) as TulleErrorCode;
    throw new TulleError(code, error.text('message'));
  }

  protected constant(address: number): string {
    const memory = new Uint8Array(this.module.wasmMemory.buffer);
    return this.memory.text(address, memory.indexOf(0, address >>> 0) - (address >>> 0));
  }
}
