// SPDX-License-Identifier: Apache-2.0
// The C ABI as a module offers it, with just enough around it to test it: numbers are addresses, structs are bytes.
import fs from 'node:fs';
import path from 'node:path';

export const status = { ok: 0, invalidArgument: 1, io: 10, malformed: 11, notFound: 13, outOfMemory: 21, cancelled: 30, end: 31 };

/** An error of the C ABI. */
export class StatusError extends Error {
  constructor(code, message) {
    super(`${message} (${code})`);
    this.code = code;
  }
}

export class Engine {
  /** @param {string} file a module; `helpers` workers are made for its threads. */
  static async open(file, helpers = 0) {
    const engine = new Engine();
    const create = (await import(file)).default;
    engine.module = await create({
      poolSize: helpers,
      hostRead: (index, offset, pointer, size) => engine.read(index, offset, pointer, size),
      hostProgress: (context, pointer, size, fraction) => engine.progress(engine.text(pointer, size), fraction),
    });
    engine.error = engine.module._malloc(1024);
    engine.view.setUint32(engine.error, 1024, true);
    engine.cell = engine.module._malloc(8);
    engine.token = engine.module._malloc(32);
    engine.bytesRead = 0;
    engine.progress = () => 0;
    return engine;
  }

  get memory() { return this.module.wasmMemory.buffer; }
  get view() { return new DataView(this.memory); }
  text(pointer, size) { return new TextDecoder().decode(new Uint8Array(this.memory).slice(pointer, pointer + size)); }

  check(code) {
    if (code === status.ok) return;
    const message = new Uint8Array(this.memory).slice(this.error + 8, this.error + 1024);
    throw new StatusError(code, new TextDecoder().decode(message.subarray(0, message.indexOf(0))));
  }

  /** Runs `use(pointer, size)` on a copy of bytes or of a text in the module's memory. */
  lend(content, use) {
    const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
    const pointer = this.module._malloc(bytes.length + 1);
    new Uint8Array(this.memory).set(bytes, pointer);
    try {
      return use(pointer, bytes.length);
    } finally {
      this.module._free(pointer);
    }
  }

  read(index, offset, pointer, size) {
    const bytes = new Uint8Array(this.memory, pointer, size);
    this.bytesRead += size;
    return fs.readSync(this.files[index], bytes, 0, size, offset) === size ? 0 : 1;
  }

  /** Loads a GGUF file or the files of a directory; the handle. */
  load(model, assembly = 'auto') {
    const paths = fs.statSync(model).isDirectory() ? fs.readdirSync(model).map((name) => path.join(model, name)) : [model];
    const names = paths.map((each) => path.basename(each));
    this.files = paths.map((each) => fs.openSync(each));
    const sizes = new Float64Array(this.files.map((file) => fs.fstatSync(file).size));
    try {
      return this.lend(names.join(''), (text) => {
        const strings = new Uint32Array(names.length * 2);
        let at = text;
        names.forEach((name, i) => {
          strings.set([at, name.length], 2 * i);
          at += name.length;
        });
        return this.lend(new Uint8Array(strings.buffer), (stringsAt) =>
          this.lend(new Uint8Array(sizes.buffer), (sizesAt) =>
            this.lend(assembly, (pointer, size) => {
              this.check(this.module._tulle_host_load(stringsAt, sizesAt, names.length, pointer, size, this.cell, this.error));
              return this.view.getUint32(this.cell, true);
            })));
      });
    } finally {
      this.files.forEach((file) => fs.closeSync(file));
    }
  }

  session(model, threads = 1, length = 128) {
    const options = this.module._malloc(64);
    this.module._tulle_session_options_init(options, 48);
    this.view.setUint32(options + 4, threads, true);
    this.view.setBigUint64(options + 16, BigInt(length), true);
    const code = this.module._tulle_session_new(model, options, this.cell, this.error);
    this.module._free(options);
    this.check(code);
    return this.view.getUint32(this.cell, true);
  }

  /** The tokens that follow a prompt, greedily, and the logits behind each where they are wanted. */
  generate(session, prompt, count, wantsLogits = false) {
    const ignoreEos = 1, keepLogits = 16, optionsSize = 88;
    const options = this.module._malloc(optionsSize);
    this.module._tulle_generate_options_init(options, optionsSize);
    this.view.setUint32(options + 4, ignoreEos | (wantsLogits ? keepLogits : 0), true);
    this.view.setBigUint64(options + 16, BigInt(count), true);
    const ids = new Int32Array(prompt);
    const code = this.lend(new Uint8Array(ids.buffer), (pointer) =>
      this.module._tulle_session_generate_tokens(session, pointer, ids.length, options, this.error));
    this.module._free(options);
    this.check(code);
    const tokens = [], logits = [];
    for (let i = 0; i < count; ++i) {
      this.view.setUint32(this.token, 32, true);
      this.check(this.module._tulle_session_next(session, this.token, this.error));
      tokens.push(this.view.getInt32(this.token + 4, true));
      if (wantsLogits) logits.push(this.logits(session));
    }
    return { tokens, logits };
  }

  logits(session) {
    this.check(this.module._tulle_session_logits(session, 0, 0, this.cell, this.error));
    const size = this.view.getUint32(this.cell, true), pointer = this.module._malloc(4 * size);
    this.check(this.module._tulle_session_logits(session, pointer, size, this.cell, this.error));
    const values = new Uint8Array(this.memory).slice(pointer, pointer + 4 * size);
    this.module._free(pointer);
    return values;
  }

  freeSession(session) { this.check(this.module._tulle_session_free(session)); }
  freeModel(model) { this.check(this.module._tulle_model_free(model)); }
}
