/** Messages of a goal pass the user_prompt_submit hooks like those of a person (invariant G4 of goal.ts). Source: agent-core.md 5.4. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ScriptedAnswer } from '../../packages/server/testing/scripted-model.ts'
import { ofKind, startRunning, type Loose, type Running } from '../../packages/server/testing/restartable-server.ts'

let server: Running
/** What the goal judge reports as missing, one entry per round; after the last, the goal is complete. */
let missing: string[] = []

beforeAll(async () => {
  server = await startRunning(({ text }): ScriptedAnswer => {
    if (!text.includes('You judge whether')) return { text: 'Done.' }
    const next = missing.shift()
    return { text: JSON.stringify({ score: 0.5, complete: next === undefined, missing: next ?? '' }) }
  })
})
afterAll(() => server[Symbol.asyncDispose]())

const guard = `cat > prompt; if grep -q swordfish prompt; then echo '{"decision":"deny","reason":"a password"}'; else echo '{"additionalContext":"be kind"}'; fi`
const hook_config = { user_prompt_submit: [{ matcher: '*', hooks: [{ command: guard }] }] }

const start = () => server.start({ hook_config, autotitle: false })
const pursue = (id: string, objective: string) => server.call('POST', `/api/conversations/${id}/goal`, { objective })
const resume = (id: string) => server.call('POST', `/api/conversations/${id}/goal/resume`, {})
const info = async (id: string): Promise<Loose> => (await server.call('GET', `/api/conversations/${id}`)).body
const goals = async (id: string) =>
  (await server.events(id)).filter(({ key }) => key === 'goal').map(({ value }) => [value.status, value.iteration])
const looks = async (id: string) => ofKind(await server.events(id), 'HookExecutionEvent')
const messages = async (id: string) =>
  ofKind(await server.events(id), 'MessageEvent').filter(({ source }) => source === 'user')

test('every message of a goal runs the user_prompt_submit hooks, which may add context', async () => {
  const id = await start()
  missing = ['the tests']
  expect((await pursue(id, 'Make it work.')).status).toBe(200)
  await server.until(id, 'finished')
  const said = await messages(id)
  expect(said.map(({ sender, extended_content }) => [sender, extended_content[0].text])).toEqual([
    ['goal', 'be kind'],
    ['goal', 'be kind'],
  ])
  expect((await looks(id)).map(({ message_id }) => message_id)).toEqual(said.map((message) => message.id))
  expect((await goals(id)).at(-1)).toEqual(['complete', 2])
})

test('a blocked objective starts no goal and reaches no model, and a resumption runs the hook again', async () => {
  const id = await start()
  const before = server.model.requests.length
  expect((await pursue(id, 'Find the swordfish.')).status).toBe(200)
  expect(await goals(id)).toEqual([['interrupted', 0]])
  const [message] = await messages(id)
  expect(await info(id)).toMatchObject({ execution_status: 'idle', blocked_messages: { [message.id]: 'a password' } })
  expect((await resume(id)).status).toBe(200)
  expect(await goals(id)).toEqual([
    ['interrupted', 0],
    ['interrupted', 0],
  ])
  expect(await looks(id)).toHaveLength(2)
  await server.say(id, 'Something else.')
  await server.until(id, 'finished')
  const sent = server.model.requests.slice(before).map(({ text }) => text)
  expect(sent).not.toEqual([])
  expect(sent.join('\n')).not.toContain('swordfish')
})

test('a blocked round interrupts the goal and ends the run', async () => {
  const id = await start()
  const before = server.model.requests.length
  missing = ['the swordfish']
  await pursue(id, 'Make it work.')
  await server.until(id, 'finished')
  expect((await goals(id)).at(-1)).toEqual(['interrupted', 1])
  expect(Object.values((await info(id)).blocked_messages)).toEqual(['a password'])
  expect(server.model.requests.slice(before), 'the agent once, the judge once').toHaveLength(2)
})

test('an invalid goal is refused before its hooks run', async () => {
  const id = await start()
  expect((await pursue(id, ' ')).status).toBe(400)
  expect((await resume(id)).status).toBe(400)
  expect(await looks(id)).toEqual([])
})
