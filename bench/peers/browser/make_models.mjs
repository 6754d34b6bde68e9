// SPDX-License-Identifier: Apache-2.0
// Makes Q8_0 files out of a Q4_1 file: as it is, and with 8 or 4 of every 16 weights of a row kept (the largest; for
// speed only: the text of such a model is meaningless).
//   usage: make_models.mjs MODEL.Q4_1.gguf FOLDER          prints the names of FOLDER/{Q8_0,8_16,4_16}.gguf
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [, , source, folder] = process.argv;
const q4_1 = { type: 3, bytes: 20 };
const q8_0 = { type: 8, bytes: 34 };
const blockSize = 32;
const file = readFileSync(source);

/** Reads GGUF (little-endian, version 3): header, values, tensor descriptions. */
function parse() {
  let at = 8;
  const u32 = () => file.readUInt32LE((at += 4) - 4);
  const u64 = () => Number(file.readBigUInt64LE((at += 8) - 8));
  const text = () => {
    const size = u64();
    at += size;
    return file.toString('utf8', at - size, at);
  };
  const sizes = { 0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8 };
  const skip = (kind) => {
    if (kind === 8) text();
    else if (kind === 9) for (let [each, count] = [u32(), u64()]; count > 0; --count) skip(each);
    else at += sizes[kind];
  };
  const tensorCount = u64();
  const values = u64();
  for (let index = 0; index < values; ++index) {
    if (text() === 'general.alignment') throw new Error(`${source}: an alignment of its own is not handled`);
    skip(u32());
  }
  const headerEnd = at;
  const tensors = Array.from({ length: tensorCount }, () => {
    const name = text();
    const shape = Array.from({ length: u32() }, u64);
    return { name, shape, type: u32(), offset: u64() };
  });
  const begin = aligned(at);
  tensors.forEach((tensor, index) => {
    const end = tensors[index + 1]?.offset ?? file.length - begin;
    tensor.data = file.subarray(begin + tensor.offset, begin + end);
  });
  return { header: file.subarray(0, headerEnd), tensors };
}

const aligned = (size) => Math.ceil(size / 32) * 32;

function halfToFloat(bits) {
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  const value = exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15);
  return bits & 0x8000 ? -value : value;
}

/** Rounds; for scales, which are normal numbers or small. */
function floatToHalf(value) {
  if (value < 2 ** -14) return Math.round(value * 2 ** 24);
  const exponent = Math.floor(Math.log2(value));
  return ((exponent + 15) << 10) + Math.round((value / 2 ** exponent - 1) * 1024);
}

function toQ8({ data, shape }, keep) {
  const blocks = shape.reduce((product, each) => product * each) / blockSize;
  const out = Buffer.alloc(blocks * q8_0.bytes);
  const values = new Float32Array(blockSize);
  for (let block = 0; block < blocks; ++block) {
    const from = block * q4_1.bytes;
    const [step, minimum] = [halfToFloat(data.readUInt16LE(from)), halfToFloat(data.readUInt16LE(from + 2))];
    for (let index = 0; index < 16; ++index) {
      const codes = data[from + 4 + index];
      values[index] = (codes & 15) * step + minimum;
      values[index + 16] = (codes >> 4) * step + minimum;
    }
    for (const half of keep < 16 ? [values.subarray(0, 16), values.subarray(16)] : []) {
      const order = [...half.keys()].sort((a, b) => Math.abs(half[b]) - Math.abs(half[a]));
      for (const index of order.slice(keep)) half[index] = 0;
    }
    const scale = values.reduce((max, value) => Math.max(max, Math.abs(value)), 0) / 127;
    out.writeUInt16LE(floatToHalf(scale), block * q8_0.bytes);
    values.forEach((value, index) =>
      out.writeInt8(scale > 0 ? Math.round(value / scale) : 0, block * q8_0.bytes + 2 + index),
    );
  }
  return out;
}

function write(name, keep) {
  const path = join(folder, `${name}.gguf`);
  console.log(path);
  if (existsSync(path)) return;
  const { header, tensors } = parse();
  const descriptions = [];
  const bodies = [];
  let offset = 0;
  for (const tensor of tensors) {
    const changes = tensor.type === q4_1.type;
    const data = changes ? toQ8(tensor, keep) : tensor.data;
    const name = Buffer.from(tensor.name);
    const description = Buffer.alloc(8 + name.length + 4 + tensor.shape.length * 8 + 4 + 8);
    let at = description.writeBigUInt64LE(BigInt(name.length), 0);
    at += name.copy(description, at);
    at = description.writeUInt32LE(tensor.shape.length, at);
    for (const size of tensor.shape) at = description.writeBigUInt64LE(BigInt(size), at);
    at = description.writeUInt32LE(changes ? q8_0.type : tensor.type, at);
    description.writeBigUInt64LE(BigInt(offset), at);
    descriptions.push(description);
    bodies.push(data, Buffer.alloc(aligned(data.length) - data.length));
    offset += aligned(data.length);
  }
  const front = Buffer.concat([header, ...descriptions]);
  const whole = Buffer.concat([front, Buffer.alloc(aligned(front.length) - front.length), ...bodies]);
  writeFileSync(`${path}.part`, whole);
  renameSync(`${path}.part`, path);
}

write('Q8_0', 16);
write('8_16', 8);
write('4_16', 4);
