// SPDX-License-Identifier: Apache-2.0
// One generation, in slices that are short enough to receive messages between them.
import { TulleError } from '../error.js';
import type { GenerateRequest } from '../protocol.js';
import type { FinishReason, GenerationResult, Piece } from '../types.js';
import type { Engine } from './engine.js';

export interface Breathing {
  /** Lets messages in. */
  pause(): Promise<void>;
  readonly stopped: boolean;
  readonly pace: Pace;
}

/** Number of prompt tokens in one pass, adapted while the model runs. */
export interface Pace {
  slice: number;
}

export const firstPace: Pace = { slice: 8 };

/** Messages are let in, and pieces sent, this often. */
const breathMs = 8;
/** A slice of a prompt should take so long, and has at most so many tokens: each reads all weights from main memory. */
const sliceMs = 180;
const longestSlice = 256;

type Request = Pick<GenerateRequest, 'prompt' | 'append' | 'options'>;

/** A generation that fails leaves nothing of its prompt and text in the session. */
export async function generate(
  engine: Engine,
  session: number,
  { prompt, append, options }: Request,
  breathing: Breathing,
  send: (pieces: Piece[]) => void,
  report: (promptFraction: number) => void,
): Promise<GenerationResult> {
  const history = append ? undefined : engine.history(session);
  const isFirst = history ? true : engine.history(session).length === 0;
  const addSpecialTokens = isFirst && (options.addSpecialTokens ?? true);
  const whole =
    'tokens' in prompt
      ? prompt.tokens
      : 'text' in prompt
        ? engine.encode(prompt.text, { addSpecialTokens })
        : engine.encode(engine.chatPrompt(prompt.messages, true), { addSpecialTokens: false });
  if (whole.length === 0 && isFirst)
    throw new TulleError('invalid_argument', 'the prompt is empty; give at least one token');
  engine.draft(session, options);
  const cachedTokens = history ? keepCommon(engine, session, history, whole) : 0;
  const before = engine.history(session).length;
  try {
    const chosen = 'messages' in prompt ? { ...options, addSpecialTokens: false } : options;
    return await run(engine, session, whole, cachedTokens, chosen, breathing, send, report);
  } catch (error) {
    if (error instanceof TulleError) engine.truncate(session, before); // after a trap nothing can be called
    throw error;
  }
}

async function run(
  engine: Engine,
  session: number,
  whole: Int32Array,
  cachedTokens: number,
  options: Request['options'],
  breathing: Breathing,
  send: (pieces: Piece[]) => void,
  report: (promptFraction: number) => void,
): Promise<GenerationResult> {
  const begin = performance.now();
  const last = await readPrompt(engine, session, whole.subarray(cachedTokens), options, breathing, report);
  let firstToken = begin;
  let finishReason: FinishReason = 'cancelled';
  let text = '';
  const tokens: number[] = [];
  let unsent: Piece[] = [];
  const flush = () => {
    if (unsent.length > 0) send(unsent);
    unsent = [];
  };
  if (last !== undefined) {
    engine.generate(session, last, options);
    let lastBreath = performance.now();
    for (;;) {
      if (breathing.stopped) engine.cancel(session); // what a stop string holds back comes then, with the end
      const next = engine.next(session);
      if (next === undefined) break;
      const { finishReason: ended, ...piece } = next;
      const now = performance.now();
      if (tokens.length === 0) {
        firstToken = now;
        if (last.length < whole.length - cachedTokens) report(1);
      }
      if (piece.token >= 0) tokens.push(piece.token);
      text += piece.text;
      unsent.push(piece);
      if (ended) {
        finishReason = ended;
        break;
      }
      if (now - lastBreath >= breathMs || tokens.length === 1) {
        flush();
        await breathing.pause();
        lastBreath = performance.now();
      }
    }
  }
  flush();
  const prefillMs = firstToken - begin;
  const decodeMs = tokens.length > 1 ? performance.now() - firstToken : 0;
  const perSecond = (count: number, ms: number) => (ms > 0 ? (count * 1000) / ms : 0);
  return {
    text,
    tokens: Int32Array.from(tokens),
    finishReason,
    usage: {
      promptTokens: whole.length,
      cachedTokens,
      completionTokens: tokens.length,
      ...(last === undefined ? { draftTokens: 0, acceptedDraftTokens: 0 } : engine.drafts(session)),
    },
    timings: {
      prefillMs,
      decodeMs,
      prefillTokensPerSecond: perSecond(whole.length - cachedTokens, prefillMs),
      decodeTokensPerSecond: perSecond(tokens.length - 1, decodeMs),
    },
  };
}

/** Makes the session hold what its history and the prompt begin with; at least one token is left to read. */
function keepCommon(engine: Engine, session: number, history: Int32Array, tokens: Int32Array): number {
  const most = Math.min(history.length, tokens.length - 1);
  let common = 0;
  while (common < most && history[common] === tokens[common]) ++common;
  if (common < history.length) engine.truncate(session, common);
  return common;
}

/**
 * Reads all but the last tokens, which it returns. A stopped prompt is removed, and nothing is returned.
 * The results do not depend on the slices: they are bit-identical.
 */
async function readPrompt(
  engine: Engine,
  session: number,
  tokens: Int32Array,
  options: Request['options'],
  breathing: Breathing,
  report: (fraction: number) => void,
): Promise<Int32Array | undefined> {
  const before = engine.history(session).length;
  const { pace } = breathing;
  engine.generate(session, tokens, options); // refused before anything is read: wrong options, and what has no room
  engine.truncate(session, before);
  let at = 0;
  await breathing.pause();
  while (!breathing.stopped && tokens.length - at > pace.slice) {
    const { slice } = pace;
    const begin = performance.now();
    engine.generate(session, tokens.subarray(at, at + slice), { maxNewTokens: 0 });
    while (engine.next(session) !== undefined);
    at += slice;
    report(at / tokens.length);
    const ms = Math.max(performance.now() - begin, 0.01);
    const fitting = (slice * sliceMs) / ms;
    pace.slice = Math.max(1, Math.min(longestSlice, slice * 4, fitting < 16 ? Math.floor(fitting) : fitting & ~15));
    await breathing.pause();
  }
  if (!breathing.stopped) return tokens.subarray(at);
  engine.truncate(session, before);
  return undefined;
}
