// SPDX-License-Identifier: Apache-2.0
// The structs of the C ABI (capi/include/tulle.h), and where their fields lie.

type Kind = 'u32' | 'i32' | 'f32' | 'u64' | 'f64' | 'size' | 'pointer' | 'string' | `char[${number}]`;

const string = 'string'; // data and size
const pointer = 'pointer';

export const structs = {
  tulle_error: { struct_size: 'u32', status: 'i32', message: 'char[1016]' },
  tulle_string: { data: pointer, size: 'size' },
  tulle_model_info: {
    struct_size: 'u32',
    flags: 'u32',
    weight_bytes: 'u64',
    vocabulary: 'u32',
    tokens: 'u32',
    context_length: 'u32',
    layers: 'u32',
    hidden: 'u32',
    bos: 'i32',
    eos: 'i32',
    reserved: 'u32',
  },
  tulle_message: { role: string, content: string },
  tulle_session_options: {
    struct_size: 'u32',
    threads: 'u32',
    cache: string,
    sequence_length: 'u64',
    prompt_sequence_length: 'u64',
    window: 'u64',
    sinks: 'u64',
  },
  tulle_generate_options: {
    struct_size: 'u32',
    flags: 'u32',
    sampler: string,
    max_new_tokens: 'u64',
    seed: 'u64',
    temperature: 'f32',
    top_p: 'f32',
    min_p: 'f32',
    typical_p: 'f32',
    repetition_penalty: 'f32',
    presence_penalty: 'f32',
    frequency_penalty: 'f32',
    top_k: 'i32',
    no_repeat_ngram: 'i32',
    min_new_tokens: 'i32',
    eos: pointer,
    eos_count: 'size',
    stop: pointer,
    stop_count: 'size',
  },
  tulle_timings: {
    struct_size: 'u32',
    reserved: 'u32',
    prompt_tokens: 'u64',
    generated_tokens: 'u64',
    prefill_seconds: 'f64',
    decode_seconds: 'f64',
    draft_tokens: 'u64',
    accepted_draft_tokens: 'u64',
  },
  tulle_token: {
    struct_size: 'u32',
    id: 'i32',
    log_probability: 'f32',
    finish_reason: 'i32',
    bytes: string,
    text: string,
  },
} as const satisfies Record<string, Record<string, Kind>>;

export type StructName = keyof typeof structs;
export type FieldName<Name extends StructName> = keyof (typeof structs)[Name] & string;

export interface Layout {
  readonly size: number;
  readonly fields: Readonly<Record<string, { readonly offset: number; readonly kind: Kind }>>;
}

/** By C's rules; addresses and sizes have 4 bytes in WebAssembly. */
export function layoutOf(name: StructName, addressBytes: 4 | 8 = 4): Layout {
  const fields: Record<string, { offset: number; kind: Kind }> = {};
  let end = 0;
  let widest = 1;
  for (const [field, kind] of Object.entries(structs[name]) as [string, Kind][]) {
    const { size, alignment } = measureOf(kind, addressBytes);
    const offset = Math.ceil(end / alignment) * alignment;
    fields[field] = { offset, kind };
    end = offset + size;
    widest = Math.max(widest, alignment);
  }
  return { size: Math.ceil(end / widest) * widest, fields };
}

function measureOf(kind: Kind, addressBytes: number): { size: number; alignment: number } {
  switch (kind) {
    case 'u32':
    case 'i32':
    case 'f32':
      return { size: 4, alignment: 4 };
    case 'u64':
    case 'f64':
      return { size: 8, alignment: 8 };
    case 'size':
    case 'pointer':
      return { size: addressBytes, alignment: addressBytes };
    case 'string':
      return { size: 2 * addressBytes, alignment: addressBytes };
    default:
      return { size: Number(/\d+/.exec(kind)![0]), alignment: 1 };
  }
}
