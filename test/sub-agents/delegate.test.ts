import { describe, expect, test } from 'vitest'
import { startTestServer } from '../../packages/server/testing/server.ts'
import { start } from '../../packages/server/testing/conversations.ts'
import {
  childrenOf,
  costsOf,
  delegate,
  finish,
  parent,
  PRICE,
  run,
  startScripts,
  textOf,
} from '../../packages/server/testing/sub-agent-scripts.ts'

describe('delegates', () => {
  test('delegates are spawned, work concurrently, keep their history, and answer in the requested order', async () => {
    await using server = await startTestServer()
    const both = Promise.withResolvers<void>()
    let arrived = 0
    const meet = async (message: string) => {
      if (++arrived === 2) both.resolve()
      await both.promise
      return finish(message)
    }
    await using model = await startScripts({
      parent: [
        delegate({ command: 'spawn', ids: ['left', 'right'], agent_types: ['bash-runner'] }),
        delegate({ command: 'delegate', tasks: { right: '[right] x', left: '[left] x' } }),
        delegate({ command: 'delegate', tasks: { left: '[more] y' } }),
        finish('done'),
      ],
      left: [() => meet('left result')],
      right: [() => meet('right result')],
      more: [run('true'), finish('more result')],
    })
    const it = await start(server, parent(model, server.dir.file('work')))
    await it.is('finished', 'error')
    const [spawned, worked, again] = (await it.kinds('ObservationEvent')).map(textOf)
    expect(spawned).toContain('left (bash-runner), right (general-purpose)')
    expect(worked).toMatch(
      /right \(general-purpose\): finished\nright result\n\nleft \(bash-runner\): finished\nleft result/,
    )
    expect(again).toContain('more result')
    const children = await childrenOf(server, it.id)
    expect(children).toHaveLength(2)
    const { by, total } = costsOf(await it.info())
    expect(by['delegate:left']).toBeCloseTo(3 * PRICE, 9)
    expect(by['delegate:right']).toBeCloseTo(PRICE, 9)
    expect(total).toBe(8 * PRICE)
    const left = children.find(({ now }) => now.title === 'left (bash-runner)')!
    const prompts = (await left.kinds('MessageEvent')).filter(({ source }) => source === 'user')
    expect(prompts).toHaveLength(2)
  }, 60_000)

  test('a failing delegate keeps the results of the others, and errors are named', async () => {
    await using server = await startTestServer()
    await using model = await startScripts({
      parent: [
        delegate({ command: 'delegate', tasks: { nobody: 'x' } }),
        delegate({ command: 'spawn', ids: ['a', 'b'], agent_types: ['bash-runner', 'wizard'] }),
        delegate({ command: 'spawn', ids: ['a'], agent_types: ['bash-runner', 'bash-runner'] }),
        delegate({ command: 'spawn', ids: ['a', 'b', 'c', 'd', 'e', 'f'] }),
        delegate({ command: 'spawn', ids: ['good', 'bad'] }),
        delegate({ command: 'delegate', tasks: { bad: '[bad] x', good: '[good] x' } }),
        delegate({ command: 'spawn', ids: ['good'] }),
        finish('done'),
      ],
      good: [finish('good result')],
    })
    const it = await start(server, parent(model, server.dir.file('work')))
    await it.is('finished', 'error')
    const errors = (await it.kinds('AgentErrorEvent')).map(({ error }) => error as string)
    expect(errors).toHaveLength(4)
    expect(errors[0]).toContain('no delegate nobody. Delegates: none')
    expect(errors[1]).toContain("no type 'wizard'")
    expect(errors[2]).toContain('agent_types has 2 entries for 1 ids')
    expect(errors[3]).toContain('5 delegates at most')
    const worked = textOf((await it.kinds('ObservationEvent'))[1])
    expect(worked).toMatch(/bad \(general-purpose\): error\. .*no answer 0 for \[bad\]/)
    expect(worked).toContain('good result')
    // Two, and the one that took the place of the first; none of those that were refused.
    expect(await childrenOf(server, it.id)).toHaveLength(3)
  }, 60_000)
})
