import { expect, test } from 'vitest'
import { geminiBlocks, geminiSignature, type GeminiSignatures } from './gemini-signature.ts'

const signed = (of: Partial<GeminiSignatures>): GeminiSignatures => ({ call: null, text: null, thought: null, ...of })

type Goes = { call?: string; text?: string }

test.each<[string, Partial<GeminiSignatures>, string, boolean, Goes]>([
  ['of a call goes back with the call', { call: 'C' }, 'said', true, { call: 'C' }],
  ['of a closing text goes back with the text', { text: 'T' }, 'said', false, { text: 'T' }],
  ['of both go back each with its own', { call: 'C', text: 'T' }, 'said', true, { call: 'C', text: 'T' }],
  ['of a text before an unsigned call stays with the text', { text: 'T' }, 'said', true, { text: 'T' }],
  ['of an empty part before a call goes with the call', { text: 'T' }, '', true, { call: 'T' }],
  ['of a thought goes with the call that follows', { thought: 'H' }, 'said', true, { call: 'H' }],
  ['of a thought goes with the text that follows', { thought: 'H' }, 'said', false, { text: 'H' }],
  ['of a thought gives way to that of the call', { thought: 'H', call: 'C' }, '', true, { call: 'C' }],
  ['without anything to sign is not kept', { text: 'T', thought: 'H' }, ' ', false, {}],
  ['that is not there is not sent', {}, 'said', true, {}],
])('a thought signature of Gemini %s', (_name, signatures, text, hasCalls, goes) => {
  const blocks = geminiBlocks(signed(signatures), { text, reasoning: 'why', hasCalls })
  expect([geminiSignature(blocks, 'call'), geminiSignature(blocks, 'text')]).toEqual([goes.call, goes.text])
  // The reasoning is stored once.
  expect(blocks.map(({ thinking }) => thinking).join('')).toBe(blocks.length === 0 ? '' : 'why')
})

test('blocks of other vendors hold no signature for Gemini', () => {
  const blocks = [
    { type: 'redacted_thinking' as const, data: 'x' },
    { type: 'thinking' as const, thinking: 'y', signature: 'of another' },
    { type: 'thinking' as const, thinking: 'z', signature: null },
  ]
  expect([geminiSignature(blocks, 'call'), geminiSignature(blocks, 'text')]).toEqual([undefined, undefined])
  expect(geminiSignature(undefined, 'text')).toBeUndefined()
})
