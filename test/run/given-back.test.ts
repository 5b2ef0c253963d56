/** After a condensation the task list and the files in work follow the summary, unchanged until the next one, over restarts and in forks. */
import { expect, test } from 'vitest'
import { llmOf } from '../../packages/server/testing/conversations.ts'
import { startRunning } from '../../packages/server/testing/restartable-server.ts'
import {
  asksForSummary,
  type ModelRequest,
  type ScriptedToolCall,
} from '../../packages/server/testing/scripted-model.ts'

const STEPS = 12
const SECRET = 'marmalade'

const messagesOf = ({ body }: ModelRequest) => (body['messages'] as object[]).map((each) => JSON.stringify(each))
/** The message with the summary, and what follows it in that message. */
const summaryIn = (request: ModelRequest) => messagesOf(request).find((each) => each.includes('A summary of it all.'))
const extendsIt = (before: ModelRequest, after: ModelRequest) =>
  messagesOf(before).every((each, at) => each === messagesOf(after)[at])

function callsOf(step: number, work: string): ScriptedToolCall[] {
  const edit = (args: object) => [{ name: 'file_editor', arguments: { path: `${work}/port.py`, ...args } }]
  if (step === 1)
    return [{ name: 'task_tracker', arguments: { command: 'plan', task_list: [{ title: 'write port.py' }] } }]
  if (step === 2) return edit({ command: 'create', file_text: `PORT = 8431\nJAM = "${SECRET}"\n` })
  if (step === 3) return edit({ command: 'str_replace', old_str: '8431', new_str: '8432' })
  return [{ name: 'terminal', arguments: { command: `echo "step ${step}"` } }]
}

test('what is given back is masked, stays the same until the next condensation, and is the same after a restart and in a fork', async () => {
  let step = 0
  let work = ''
  await using running = await startRunning(({ view }) => {
    if (asksForSummary(view)) return { text: 'A summary of it all.' }
    step++
    return step % STEPS === 0 ? { text: 'turn done' } : { toolCalls: callsOf(step, work) }
  })
  const { requests } = running.model
  expect((await running.call('POST', '/api/secrets', { name: 'JAM', value: SECRET })).status).toBe(201)
  const llm = llmOf(running.model)
  const id = await running.start({
    agent: {
      kind: 'Agent',
      llm,
      tools: [{ name: 'terminal' }, { name: 'file_editor' }, { name: 'task_tracker' }],
      condenser: { kind: 'LLMSummarizingCondenser', llm, max_size: 20 },
    },
    autotitle: false,
  })
  work = running.work(id)
  const turn = async (of: string) => {
    const at = requests.length
    await running.say(of, 'more')
    await running.until(of, 'finished', 'error', 'stuck')
    return requests.slice(at)
  }
  const condensed = (await turn(id)).filter((request) => summaryIn(request) !== undefined)
  expect(condensed.length).toBeGreaterThan(1)
  const given = summaryIn(condensed[0]!)!
  expect(new Set(condensed.map(summaryIn))).toEqual(new Set([given]))
  expect(given).toContain('1. [ ] write port.py')
  expect(given).toContain('PORT = 8432')
  expect(given).toContain('<secret-hidden>')
  expect(requests.filter(({ text }) => text.includes(SECRET))).toEqual([])
  // Clients get the event without it.
  const [shown] = (await running.events(id)).filter(({ kind }) => kind === 'Condensation')
  expect(shown).toMatchObject({ summary: 'A summary of it all.' })
  expect(shown).not.toHaveProperty('given_back')

  const { body: fork } = await running.call('POST', `/api/conversations/${id}/fork`, {})
  const before = requests.at(-1)!
  await running.restart()
  for (const of of [id, fork.id]) {
    step = STEPS
    const [first, ...others] = await turn(of)
    expect(extendsIt(before, first!), of).toBe(true)
    // The next condensation carries them over.
    const last = others.findLast((request) => summaryIn(request) !== undefined)!
    expect(summaryIn(last)).toContain('1. [ ] write port.py')
    expect(summaryIn(last)).toContain('PORT = 8432')
  }
  const condensations = (await running.events(id)).filter(({ kind }) => kind === 'Condensation')
  expect(condensations.length).toBeGreaterThanOrEqual(2)
  expect(running.model.violations).toEqual([])
}, 60_000)
