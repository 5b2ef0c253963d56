/** Calls of `apply_patch` as a text: what the agent makes of them. */
import { readdir, readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import type { ScriptedAnswer } from '../../../testing/scripted-model.ts'
import { openTestAgent } from './native-agent.testing.ts'
import { texts } from './step-driver.testing.ts'

const open = (answers: readonly ScriptedAnswer[]) =>
  openTestAgent(answers, {
    agent: { tools: [{ name: 'apply_patch' }] },
    llm: { model: 'openai/gpt-5.1', api_mode: 'responses' },
  })
const patching = (text: string): ScriptedAnswer => ({ toolCalls: [{ name: 'apply_patch', arguments: text }] })
const patchOf = (...lines: string[]) => ['*** Begin Patch', ...lines, '*** End Patch'].join('\n')

test('a patch is applied, and stored as the JSON arguments of its action', async () => {
  const patch = patchOf('*** Add File: a.txt', '+one "1"')
  await using at = await open([patching(patch)])
  await at.think()
  expect(at.driver.of('ActionEvent')).toMatchObject([
    { tool_call: { arguments: JSON.stringify({ patch }) }, action: { kind: 'ApplyPatchAction', patch } },
  ])
  await at.execute()
  expect(await readFile(at.at('a.txt'), 'utf8')).toBe('one "1"\n')
})

test.each<[string, string]>([
  ['a patch in a code fence', `\`\`\`\n${patchOf('*** Add File: a.txt', '+one')}\n\`\`\``],
  ['JSON arguments', JSON.stringify({ patch: patchOf('*** Add File: a.txt', '+one') })],
  ['JSON arguments under the name of another agent', JSON.stringify({ input: patchOf('*** Add File: a.txt', '+one') })],
])('%s in place of the text is applied', async (_name, text) => {
  await using at = await open([patching(text)])
  await at.think()
  await at.execute()
  expect(await readFile(at.at('a.txt'), 'utf8')).toBe('one\n')
})

test('a malformed text is refused with the line, and the next request has it as it was written', async () => {
  const text = patchOf('*** Add File: a.txt', 'one')
  await using at = await open([patching(text), { text: 'ok' }])
  await at.think()
  await at.execute()
  expect(texts(at.driver.log)).toEqual([
    expect.stringMatching(/^Malformed patch: line 3: each line .* begins with "\+"/),
  ])
  await at.think()
  const { input } = at.model.requests.at(-1)!.body as any
  expect(input.find((item: any) => item.type === 'custom_tool_call').input).toBe(text)
  expect(at.model.violations).toEqual([])
})

test('a patch that the output limit has cut off is not applied, and the model learns why', async () => {
  const half = '*** Begin Patch\n*** Add File: a.txt\n+one\n+tw'
  await using at = await open([{ ...patching(half), finishReason: 'length', usage: { output: 4096 } }, { text: 'ok' }])
  await at.think()
  expect(at.driver.open()).toEqual([])
  expect(texts(at.driver.log)).toEqual([
    expect.stringMatching(/apply_patch was cut off after 4096 tokens.*not executed/),
  ])
  expect(await readdir(at.at('.'))).toEqual([])
  await at.think()
  expect(at.model.violations).toEqual([])
})

test('a complete patch of an answer that reached its limit is applied', async () => {
  await using at = await open([{ ...patching(patchOf('*** Add File: a.txt', '+one')), finishReason: 'length' }])
  await at.think()
  await at.execute()
  expect(await readdir(at.at('.'))).toEqual(['a.txt'])
})
