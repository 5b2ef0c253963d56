/**
 * Gemini's thought signatures: each goes back on the part that it came with, the first call or the text. They are kept as thinking
 * blocks, whose prefix says whose they are, so that they never reach another vendor. Pure. Source: agent-core.md 10.
 */
import type { RedactedThinkingBlock, ThinkingBlock } from '@parley/protocol'

/** Marks a stored signature as Gemini's. */
export const GEMINI_SIGNATURE = 'gemini:'
/** The same of a text; what a vendor signs has no colon in it. */
const OF_TEXT = `${GEMINI_SIGNATURE}text:`

/** What an answer was signed with, by the part that carried it. */
export type GeminiSignatures = { call: string | null; text: string | null; thought: string | null }

type Said = { text: string; reasoning: string; hasCalls: boolean }

/** The blocks that keep the signatures of one answer. One whose part is not sent back goes with what follows it. */
export function geminiBlocks(signatures: GeminiSignatures, { text, reasoning, hasCalls }: Said): ThinkingBlock[] {
  const isSaid = text.trim() !== ''
  const loose = signatures.thought ?? (isSaid ? null : signatures.text)
  const ofText = isSaid ? (signatures.text ?? (hasCalls ? null : loose)) : null
  const ofCall = hasCalls ? (signatures.call ?? (ofText === null ? loose : null)) : null
  const kept = [...(ofCall === null ? [] : [GEMINI_SIGNATURE + ofCall]), ...(ofText === null ? [] : [OF_TEXT + ofText])]
  return kept.map((signature, at) => ({ type: 'thinking', thinking: at === 0 ? reasoning : '', signature }))
}

/** The signature for the first call, or for the text, of a stored answer; undefined when it has none. */
export function geminiSignature(
  blocks: readonly (ThinkingBlock | RedactedThinkingBlock)[] | undefined,
  of: 'call' | 'text',
): string | undefined {
  for (const block of blocks ?? []) {
    if (block.type !== 'thinking' || !block.signature?.startsWith(GEMINI_SIGNATURE)) continue
    const isOfText = block.signature.startsWith(OF_TEXT)
    if (isOfText === (of === 'text')) return block.signature.slice((isOfText ? OF_TEXT : GEMINI_SIGNATURE).length)
  }
  return undefined
}
