import { openTestLlm, testFetch } from '../../testing/requests.ts'
import { randomBytes } from 'node:crypto'
import { asEventId, SecurityAnalyzer } from '@parley/protocol'
import { expect, test } from 'vitest'
import { openCipher } from '../secrets/index.ts'
import { startScriptedModel } from '../../testing/scripted-model.ts'
import { openAnalysis } from './analysis.ts'
import { NO_VENDOR_ACCESS } from './vendor.ts'

const KEY = 'key-of-the-guardrail'
const call = {
  action_id: asEventId('a'),
  tool_name: 'terminal',
  action: { kind: 'TerminalAction' as const, command: 'ls', is_input: false, timeout: null, reset: false },
  tool_call: { id: 'call_1', name: 'terminal', arguments: '{"command":"ls"}' },
  predicted_risk: 'LOW' as const,
  summary: null,
  thought: '',
  reasoning: null,
  is_read_only: false,
}
const context = { history: [], earlier: [], working_dir: null }

const openWith = async () => {
  const cipher = await openCipher({
    keyText: randomBytes(32).toString('base64url'),
    keyFile: '/nonexistent/key',
    salt: '',
  })
  return openAnalysis({ openLlm: openTestLlm, vendor: NO_VENDOR_ACCESS, fetchVendor: testFetch, cipher })
}

test('an analyzer is stored with its secrets encrypted, and asked with them', async () => {
  await using model = await startScriptedModel({ answers: [{ text: 'safe' }] })
  const { accept, analyze } = await openWith()
  const llm = { model: 'openai/guard', base_url: `${model.url}/v1`, api_key: KEY, num_retries: 0 }
  const stored = accept(SecurityAnalyzer.parse({ kind: 'GuardrailLLMSecurityAnalyzer', llm }))
  expect(JSON.stringify(stored)).not.toContain(KEY)
  await analyze(stored, call, context, new AbortController().signal)
  expect(model.requests.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${KEY}`])
})

test('an analyzer that cannot be opened is refused before it is stored', async () => {
  const { accept } = await openWith()
  const nested = (depth: number): unknown =>
    depth === 0 ? { kind: 'LLMSecurityAnalyzer' } : { kind: 'EnsembleSecurityAnalyzer', analyzers: [nested(depth - 1)] }
  expect(() => accept(SecurityAnalyzer.parse(nested(9)))).toThrow('too large')
  expect(accept(SecurityAnalyzer.parse(nested(8)))).toMatchObject({ kind: 'EnsembleSecurityAnalyzer' })
})
