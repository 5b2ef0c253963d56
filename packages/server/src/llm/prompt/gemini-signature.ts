/**
 * Gemini's thought signatures: each is sent back on the part that it came with, the first call or the text. They are
 * stored as
 * thinking blocks with a prefix, so that they are never sent to another vendor. Pure. Source: agent-core.md 10.
 */
import type { RedactedThinkingBlock, ThinkingBlock } from '@parley/protocol'

/** Marks a stored signature as Gemini's. */
export const GEMINI_SIGNATURE = 'gemini:'
/** Prefix for the signature of a text; a vendor's signature has no colon in it. */
const OF_TEXT = `${GEMINI_SIGNATURE}text:`

/** The signatures of an answer, by the part that carried them. */
export type GeminiSignatures = { call: string | null; text: string | null; thought: string | null }

type SignedAnswer = { text: string; reasoning: string; hasCalls: boolean }

/**
 * Returns the blocks that store the signatures of one answer. The signature of a part that is not sent back moves to
 * the part
 * after it.
 */
export function geminiBlocks(
  signatures: GeminiSignatures,
  { text, reasoning, hasCalls }: SignedAnswer,
): ThinkingBlock[] {
  const hasText = text.trim() !== ''
  const loose = signatures.thought ?? (hasText ? null : signatures.text)
  const ofText = hasText ? (signatures.text ?? (hasCalls ? null : loose)) : null
  const ofCall = hasCalls ? (signatures.call ?? (ofText === null ? loose : null)) : null
  const kept = [...(ofCall === null ? [] : [GEMINI_SIGNATURE + ofCall]), ...(ofText === null ? [] : [OF_TEXT + ofText])]
  return kept.map((signature, at) => ({ type: 'thinking', thinking: at === 0 ? reasoning : '', signature }))
}

/** Returns the signature for the first call, or for the text, of a stored answer; undefined when it has none. */
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
