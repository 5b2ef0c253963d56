/** Conversations that move to another node, or stay: when their node ends, when it is lost, and when the store is away. */
import { randomUUID } from 'node:crypto'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { COMMANDS, lineOf, startFleet, type Fleet } from '../../packages/server/testing/fleet.ts'
import type { FleetNode } from '../../packages/server/testing/fleet-node.ts'
import { until } from '../../packages/server/testing/until.ts'

const LONG_MS = 90_000

const linesOf = (id: string, turn = 0) => Array.from({ length: COMMANDS }, (_, at) => lineOf(id, turn, at))

/** A command that waits for a file, and records that it was executed. */
const gated = (gate: string) => `until [ -e ${gate} ]; do sleep 0.1; done; echo x >> runs`

const hasExecuted = (fleet: Fleet, id: string, commands: number) =>
  until(() => fleet.executed().filter((line) => line.startsWith(id)).length >= commands, LONG_MS)

const isFinished = (fleet: Fleet, id: string) => until(async () => (await fleet.status(id)) === 'finished', LONG_MS)

async function kindsOf(fleet: Fleet, id: string): Promise<string[]> {
  const { body } = await fleet.call('GET', `/api/conversations/${id}/events/search?limit=100`)
  return body.items.map(({ kind }: { kind: string }) => kind)
}

async function owned(fleet: Fleet, id: string): Promise<FleetNode> {
  const owner = await fleet.ownerOf(id)
  if (owner === undefined) throw new Error(`conversation ${id} has no owner`)
  return owner
}

test('a node that ends reports that at once, finishes its step, and another one continues after it', async () => {
  await using fleet = await startFleet({
    nodes: 2,
    respond: ({ view }) =>
      view.assistantTurns < 2
        ? { toolCalls: [{ name: 'terminal', arguments: { command: gated(`gate-${view.assistantTurns}`) } }] }
        : { text: 'done' },
  })
  const id = await fleet.create()
  const work = fleet.dir.file('work', id)
  await fleet.say(id, 0)
  await until(async () => (await kindsOf(fleet, id)).includes('ActionEvent'), LONG_MS)
  const owner = await owned(fleet, id)
  const ended = owner.drain()
  await until(async () => (await owner.call('GET', '/ready')).status === 503, LONG_MS)
  await writeFile(`${work}/gate-0`, '')
  expect(await ended).toBe(0)
  // The step has ended before its node.
  expect(await kindsOf(fleet, id)).toContain('ObservationEvent')
  await writeFile(`${work}/gate-1`, '')
  await isFinished(fleet, id)
  expect(await owned(fleet, id)).not.toBe(owner)
  expect(await readFile(`${work}/runs`, 'utf8')).toBe('x\nx\n')
  const kinds = await kindsOf(fleet, id)
  expect(kinds.filter((kind) => kind === 'ActionEvent' || kind === 'ObservationEvent')).toEqual([
    'ActionEvent',
    'ObservationEvent',
    'ActionEvent',
    'ObservationEvent',
  ])
  expect(kinds).not.toContain('ConversationErrorEvent')
}, 180_000)

test('a conversation whose node was lost with its disk continues on another node', async () => {
  await using fleet = await startFleet({ nodes: 2, commandSeconds: 0.5 })
  const id = await fleet.create()
  await fleet.say(id, 0)
  await hasExecuted(fleet, id, 2)
  const owner = await owned(fleet, id)
  await owner.kill()
  await rm(fleet.dir.file(owner.name), { recursive: true })
  await isFinished(fleet, id)
  expect(fleet.executed()).toEqual(linesOf(id))
  await fleet.say(id, 1)
  await hasExecuted(fleet, id, 2 * COMMANDS)
  await isFinished(fleet, id)
}, 180_000)

test('a conversation with local files waits for its machine, and the next server there continues it', async () => {
  const id = randomUUID()
  await using fleet = await startFleet({
    nodes: 2,
    respond: ({ view }) =>
      view.assistantTurns === 0
        ? { toolCalls: [{ name: 'terminal', arguments: { command: gated('gate') } }] }
        : { text: 'done' },
  })
  const [here, other] = fleet.nodes as [FleetNode, FleetNode]
  const workspace = { kind: 'LocalWorkspace', working_dir: fleet.dir.file('local') }
  const content = [{ type: 'text', text: 'go' }]
  const agent = {
    kind: 'Agent',
    llm: { model: 'openai/scripted', base_url: `${fleet.model.url}/v1`, api_key: 'key-of-the-model' },
    tools: [{ name: 'terminal' }],
  }
  const start = { conversation_id: id, agent, workspace, initial_message: { content } }
  const made = await here.call('POST', '/api/conversations', start)
  expect([made.status, made.body]).toMatchObject([201, { id }])
  await until(async () => (await kindsOf(fleet, id)).includes('ActionEvent'), LONG_MS)
  expect(await here.drain()).toBe(0)
  // Reads need no owner.
  expect((await other.call('GET', `/api/conversations/${id}`)).body.execution_status).toBe('running')
  const refused = await other.call('POST', `/api/conversations/${id}/events`, { role: 'user', content, run: true })
  expect([refused.status, JSON.stringify(refused.body)]).toEqual([503, expect.stringContaining('that does not run')])
  await here.start()
  await writeFile(`${workspace.working_dir}/gate`, '')
  await isFinished(fleet, id)
  expect(await owned(fleet, id)).toBe(here)
  expect(await readFile(`${workspace.working_dir}/runs`, 'utf8')).toBe('x\n')
}, 180_000)

test('a turn continues without an error and without a second execution when the store is back after an outage', async () => {
  await using fleet = await startFleet({ nodes: 2, commandSeconds: 0.5, env: { PARLEY_LOG_LEVEL: 'warn' } })
  const ids = await Promise.all([fleet.create(), fleet.create()])
  await Promise.all(ids.map((id) => fleet.say(id, 0)))
  for (const id of ids) await hasExecuted(fleet, id, 1)
  await fleet.store.crash()
  // Every node has noticed, and every run waits.
  await until(() => fleet.nodes.every(({ stderr }) => /to be repeated|waits for the store|lost/.test(stderr)), LONG_MS)
  const { status } = await fleet.nodes[0]!.call('POST', `/api/conversations/${ids[0]}/events`, {
    role: 'user',
    content: [{ type: 'text', text: 'during the outage' }],
    run: false,
  })
  expect(status).toBe(503)
  await fleet.store.start()
  for (const id of ids) await isFinished(fleet, id)
  expect(fleet.executed().toSorted()).toEqual(ids.flatMap((id) => linesOf(id)).toSorted())
  for (const id of ids) expect(await kindsOf(fleet, id)).not.toContain('ConversationErrorEvent')
}, 240_000)
