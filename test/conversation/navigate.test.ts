/** Navigating while a step that was paused is still being finished. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startTestServer } from '../../packages/server/testing/server.ts'
import { until } from '../../packages/server/testing/until.ts'
import { message, start, starting } from '../../packages/server/testing/conversations.ts'

const run = (command: string) => ({ toolCalls: [{ name: 'terminal', arguments: { command } }] })

/** A paused conversation whose command is still running. */
async function pausedDuring(command: string) {
  await using stack = new AsyncDisposableStack()
  const model = stack.use(await startScriptedModel({ answers: [run(command), { text: 'done' }], by: 'turn' }))
  const server = stack.use(await startTestServer())
  const work = server.dir.file('work')
  const request = starting(model, work, { initial_message: { ...message('go'), run: true } })
  const live = await start(server, request)
  await until(async () => (await live.kinds('ActionEvent')).length === 1, 30_000)
  const [first] = await live.kinds('MessageEvent')
  await live.post('pause')
  const open = stack.move()
  return { live, first, work, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

/** Ids from an event to its root. */
function pathOf(events: readonly any[], id: string): string[] {
  const event = events.find((each) => each.id === id)
  return event === undefined ? [] : [id, ...pathOf(events, event.parent_id)]
}

test('a step ends on the branch that it began on before a navigation moves the leaf', async () => {
  await using paused = await pausedDuring('until [ -e go ]; do sleep 0.05; done')
  const { live, first, work } = paused
  const answering = live.post('navigate', { event_id: first.id })
  // Answered after the navigation was received.
  await live.info()
  await writeFile(join(work, 'go'), '')
  const answer = await answering
  expect(answer).toMatchObject({ status: 200, body: { leaf_event_id: first.id, execution_status: 'paused' } })
  const [action] = await live.kinds('ActionEvent')
  const [observation] = await live.kinds('ObservationEvent')
  expect(pathOf(await live.events(), observation.id)).toContain(action.id)
  await live.post('run')
  await live.is('finished')
  expect((await live.info()).leaf_event_id).not.toBe(observation.id)
}, 60_000)

test('a navigation during a long step is refused, and allowed after an interrupt', async () => {
  await using paused = await pausedDuring('sleep 60')
  const { live, first } = paused
  const refused = await live.post('navigate', { event_id: first.id })
  expect(refused).toMatchObject({ status: 409, body: { detail: expect.stringContaining('Interrupt it') } })
  await live.post('interrupt')
  expect(await live.post('navigate', { event_id: first.id })).toMatchObject({ status: 200 })
}, 60_000)
