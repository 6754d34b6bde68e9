// SPDX-License-Identifier: Apache-2.0
// From a source to a model: the part of loading that is the same everywhere.
import { Channel } from './channel.js';
import { TulleError } from './error.js';
import { Model } from './model.js';
import { wholeNumber } from './numbers.js';
import type { LoadRequest, WorkerLike, WorkerSource } from './protocol.js';
import type { LoadOptions, ModelSource } from './types.js';

/** What differs between a page and Node. */
export interface Platform {
  /** A worker that will keep its downloads in `cache`, the name of a folder. */
  createWorker(cache: string | null): WorkerLike;
  /** The source as the worker gets it, and what of it is given away. */
  prepare(source: ModelSource, options: LoadOptions): Promise<{ source: WorkerSource; transfer: Transferable[] }>;
  readonly defaultCache: string;
}

/** The time that a worker has to store its downloads before it is ended. */
const graceMs = 100;

export async function load(platform: Platform, source: ModelSource, options: LoadOptions): Promise<Model> {
  const { signal, onProgress } = options;
  signal?.throwIfAborted();
  checkOptions(options);
  const prepared = await platform.prepare(source, options).catch((error) => {
    signal?.throwIfAborted(); // streams put other errors around the signal's reason
    throw error;
  });
  signal?.throwIfAborted();
  const request: LoadRequest = {
    source: prepared.source,
    cache: options.cache === false ? null : typeof options.cache === 'string' ? options.cache : platform.defaultCache,
    integrity: options.integrity,
    assembly: options.assembly ?? '',
    threads: options.threads,
    sequenceLength: options.sequenceLength,
    variant: options.variant,
  };
  const channel = new Channel(platform.createWorker(request.cache));
  const answer = channel.call('load', request, {
    transfer: prepared.transfer,
    signal,
    onEvent: (event) => {
      if ('progress' in event && !signal?.aborted) onProgress?.(event.progress);
    },
  });
  const end = () => channel.close(new TulleError('cancelled', 'loading was ended'));
  try {
    return new Model(channel, await answer);
  } catch (error) {
    // An aborted download is stored for the next try. Packing cannot be interrupted, so its worker is terminated.
    const late = setTimeout(end, graceMs);
    answer.done
      .catch(() => {})
      .finally(() => {
        clearTimeout(late);
        end();
      });
    throw error;
  }
}

function checkOptions({ threads, sequenceLength }: LoadOptions): void {
  if (threads !== undefined) wholeNumber('threads', threads, 1, 64);
  if (sequenceLength !== undefined) wholeNumber('sequenceLength', sequenceLength, 1);
}
