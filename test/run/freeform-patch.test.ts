/** A conversation whose patches are called as a text by one model and as JSON by another, over a switch and a restart. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { llmRecord, FORMAT_NAMES } from '../../packages/server/testing/model-formats/configs.ts'
import { startRunning } from '../../packages/server/testing/restartable-server.ts'
import type { ModelRequest, ScriptedAnswer } from '../../packages/server/testing/scripted-model.ts'

const patchOf = (...lines: string[]) => ['*** Begin Patch', ...lines, '*** End Patch'].join('\n')
const nth = (n: number) =>
  patchOf(...(n === 0 ? ['*** Add File: a.txt'] : ['*** Update File: a.txt', ` line ${n - 1}`]), `+line ${n}`)

/** Each turn makes one patch, then ends. */
const respond = ({ view }: ModelRequest): ScriptedAnswer => {
  const turn = Math.floor(view.assistantTurns / 2)
  if (view.assistantTurns % 2 === 1) return { reasoning: 'so', signature: `end-${turn}`, text: `Done with ${turn}.` }
  const call = { name: 'apply_patch', arguments: { patch: nth(turn) } }
  return { reasoning: 'hm', signature: `seal-${turn}`, toolCalls: [call] }
}

const OTHERS = FORMAT_NAMES.filter((format) => format !== 'responses')

test.each(OTHERS)(
  'patches before and after a switch to %s and back are calls in the form of each model',
  async (format) => {
    await using server = await startRunning(respond)
    const gpt = llmRecord('responses', server.model.url, { model: 'openai/gpt-5.1' })
    const other = llmRecord(format, server.model.url)
    const id = await server.start({ agent: { kind: 'Agent', llm: gpt, tools: [{ name: 'apply_patch' }] } })
    const turn = async (llm: object | null) => {
      if (llm !== null)
        expect((await server.call('POST', `/api/conversations/${id}/switch_llm`, { llm })).status).toBe(200)
      await server.say(id, 'go on')
      await server.until(id, 'finished', 'error')
    }
    await turn(null)
    await server.restart()
    await turn(other)
    await turn(gpt)
    expect(await readFile(join(server.work(id), 'a.txt'), 'utf8')).toBe('line 0\nline 1\nline 2\n')
    expect(server.model.violations).toEqual([])

    const { input } = server.model.requests.findLast((request) => request.format === 'responses')!.body as any
    const items = input.filter(({ type }: any) => /call/.test(type ?? ''))
    expect(items.map(({ type }: any) => type)).toEqual(
      [0, 1, 2].flatMap(() => ['custom_tool_call', 'custom_tool_call_output']),
    )
    expect(items.flatMap((item: any) => item.input ?? [])).toEqual([0, 1, 2].map(nth))
    const events = await server.events(id)
    const actions = events.filter(({ kind }) => kind === 'ActionEvent')
    expect(actions).toHaveLength(3)
    for (const [n, { action, tool_call }] of actions.entries()) {
      expect(action).toEqual({ kind: 'ApplyPatchAction', patch: nth(n) })
      expect(JSON.parse(tool_call.arguments)).toEqual({ patch: nth(n) })
    }
  },
)
