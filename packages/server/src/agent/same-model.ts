import type { LLM } from '@parley/protocol'

/** Returns whether two configurations mean the same model; streaming and usage id do not count. */
export const isSameModel = (a: LLM, b: LLM): boolean =>
  JSON.stringify({ ...a, usage_id: '', stream: false }) === JSON.stringify({ ...b, usage_id: '', stream: false })
