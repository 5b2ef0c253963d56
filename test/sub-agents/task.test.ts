import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startTestServer } from '../../packages/server/testing/server.ts'
import { conversation, llmOf, start } from '../../packages/server/testing/conversations.ts'
import {
  childrenOf,
  costsOf,
  finish,
  parent,
  PRICE,
  run,
  startScripts,
  task,
  textOf,
  toldTask,
} from '../../packages/server/testing/sub-agent-scripts.ts'

describe('a task', () => {
  test('a task runs in a conversation of its own in the same directory, and returns its result and cost', async () => {
    await using server = await startTestServer()
    await using model = await startScripts({
      parent: [task('[child] look', { description: 'Look around' }), finish('all done')],
      child: [run('pwd > where'), finish('it is here')],
    })
    const work = server.dir.file('work')
    const it = await start(server, parent(model, work))
    await it.is('finished', 'error')
    const [observed] = (await it.kinds('ObservationEvent')).filter(({ tool_name }) => tool_name === 'task')
    expect(observed.observation).toMatchObject({
      kind: 'TaskObservation',
      is_error: false,
      subagent: 'general-purpose',
      status: 'completed',
    })
    expect(textOf(observed)).toContain('it is here')
    const [child, ...others] = await childrenOf(server, it.id)
    expect(others).toEqual([])
    expect(child!.now).toMatchObject({
      parent_conversation_id: it.id,
      execution_status: 'finished',
      workspace: { working_dir: work },
      title: 'Look around',
    })
    const { by, total } = costsOf(await it.info())
    expect(by[`task:${observed.observation.task_id}`]).toBeCloseTo(2 * PRICE, 9)
    expect(total).toBe(4 * PRICE)
    expect(model.violations).toEqual([])
  }, 60_000)

  test('a task of an unknown type is refused with the list of types, and old names still work', async () => {
    await using server = await startTestServer()
    await using model = await startScripts({
      parent: [
        task('[child] x', { subagent_type: 'wizard' }),
        task('[child] x', { subagent_type: 'bash' }),
        finish('done'),
      ],
      child: [finish('ran')],
    })
    const it = await start(server, parent(model, server.dir.file('work')))
    await it.is('finished', 'error')
    const [refused] = await it.kinds('AgentErrorEvent')
    expect(refused.error).toContain("no type 'wizard'")
    expect(refused.error).toContain('general-purpose, bash-runner, code-explorer')
    const [child, ...others] = await childrenOf(server, it.id)
    expect(others).toEqual([])
    expect(child!.now.agent.tools.map(({ name }: { name: string }) => name)).toEqual(['terminal'])
    expect((await it.kinds('ObservationEvent'))[0].observation.subagent).toBe('bash-runner')
  }, 60_000)

  test('a resumed task keeps its history, its type and its limits', async () => {
    await using server = await startTestServer()
    await using model = await startScripts({
      parent: [
        task('[child] one', { subagent_type: 'counter' }),
        (request) => task('[again] two', { resume: toldTask(request), subagent_type: 'bash-runner' }),
        task('[again] three', { resume: 'task_00000000' }),
        finish('done'),
      ],
      child: [finish('first result')],
      again: [run('true'), run('true'), finish('never said')],
    })
    const definition = { name: 'counter', tools: ['terminal'], max_iteration_per_run: 2 }
    const it = await start(server, parent(model, server.dir.file('work'), { agent_definitions: [definition] }))
    await it.is('finished', 'error')
    const [first, second] = await it.kinds('ObservationEvent')
    expect(second.observation).toMatchObject({
      task_id: first.observation.task_id,
      subagent: 'counter',
      is_error: true,
    })
    expect(textOf(second)).toContain('maximum iterations limit (2)')
    expect((await it.kinds('AgentErrorEvent'))[0].error).toContain(`Tasks: ${first.observation.task_id}`)
    const children = await childrenOf(server, it.id)
    expect(children).toHaveLength(1)
    expect(children[0]!.now).toMatchObject({ max_iterations: 2 })
    const prompts = (await children[0]!.kinds('MessageEvent')).filter(({ source }) => source === 'user')
    expect(prompts).toHaveLength(2)
    expect(costsOf(await it.info()).by[`task:${first.observation.task_id}`]).toBeCloseTo(3 * PRICE, 9)
  }, 60_000)

  test("a task shares the provider's cache with its parent", async () => {
    await using server = await startTestServer()
    await using model = await startScriptedModel({ answers: [task('look'), finish('child'), finish('done')] })
    const llm = llmOf(model, { model: 'openai/gpt-5', api_mode: 'responses', stream: true })
    const it = await start(server, parent(model, server.dir.file('work'), { agent: { llm } }))
    await it.is('finished', 'error')
    expect(model.requests.map(({ body }) => body['prompt_cache_key'])).toEqual([it.id, it.id, it.id])
    const [child] = await childrenOf(server, it.id)
    expect(child!.now.agent.llm).toMatchObject({ model: 'openai/gpt-5', stream: false })
  }, 60_000)

  test('a task uses the model of the profile that its type names', async () => {
    await using server = await startTestServer()
    await using model = await startScripts({
      parent: [
        task('[child] x', { subagent_type: 'lost' }),
        task('[child] x', { subagent_type: 'fast' }),
        finish('done'),
      ],
      child: [finish('quick')],
    })
    const llm = { model: 'openai/quick', base_url: `${model.url}/v1`, api_key: 'k' }
    expect((await server.call('POST', '/api/profiles/quick', { llm, include_secrets: true })).status).toBeLessThan(300)
    const types = [
      { name: 'fast', model: 'quick', tools: ['terminal'] },
      { name: 'lost', model: 'nowhere', tools: ['terminal'] },
    ]
    const it = await start(server, parent(model, server.dir.file('work'), { agent_definitions: types }))
    await it.is('finished', 'error')
    expect((await it.kinds('AgentErrorEvent'))[0].error).toContain("'nowhere', which does not exist. Profiles: quick.")
    expect(model.requests.map(({ view }) => view.model)).toEqual(['scripted', 'scripted', 'quick', 'scripted'])
  }, 60_000)

  test('a fork leaves sub-agents unchanged, and the copy of a sub-agent spends on its own', async () => {
    await using server = await startTestServer()
    await using model = await startScripts({
      parent: [task('[child] x'), finish('done')],
      child: [finish('child')],
      more: [finish('more')],
    })
    const it = await start(server, parent(model, server.dir.file('work')))
    await it.is('finished', 'error')
    const before = costsOf(await it.info())
    const [child] = await childrenOf(server, it.id)
    const { body: copy } = await server.call('POST', `/api/conversations/${child!.id}/fork`, {})
    const forked = conversation(server, copy.id)
    await forked.say('[more] y')
    await forked.is('finished', 'error')
    expect(costsOf(await forked.info()).total).toBe(PRICE)
    expect(costsOf(await it.info())).toEqual(before)
  }, 60_000)

  test('a sub-agent may give tasks down to the depth limit', async () => {
    await using server = await startTestServer()
    const boss = { name: 'boss', tools: ['task_tool_set'] }
    const down = (prompt: string) => task(prompt, { subagent_type: 'boss' })
    await using model = await startScripts({
      parent: [down('[one] x'), finish('done')],
      one: [down('[two] x'), finish('one')],
      two: [down('[three] x'), finish('two')],
    })
    const it = await start(server, parent(model, server.dir.file('work'), { agent_definitions: [boss] }))
    await it.is('finished', 'error')
    const [one] = await childrenOf(server, it.id)
    const [two] = await childrenOf(server, one!.id)
    expect(await childrenOf(server, two!.id)).toEqual([])
    expect((await two!.kinds('AgentErrorEvent'))[0].error).toContain('levels down')
    expect(costsOf(await it.info()).total).toBe(costsOf(two!.now).total + 4 * PRICE)
    expect((await it.info()).execution_status).toBe('finished')
  }, 60_000)

  test('one run slot is enough for a conversation and all its sub-agents', async () => {
    await using server = await startTestServer({ PARLEY_MAX_CONCURRENT_RUNS: '1' })
    await using model = await startScripts({
      parent: [task('[child] x'), finish('done')],
      child: [run('true'), finish('child')],
    })
    const its = await Promise.all([1, 2, 3].map(async (n) => start(server, parent(model, server.dir.file(`work${n}`)))))
    for (const it of its) await it.is('finished', 'error')
    for (const it of its) expect((await it.info()).execution_status).toBe('finished')
  }, 60_000)

  test('a task can have a type of the project or the request, which the tool description lists', async () => {
    await using server = await startTestServer()
    await using model = await startScripts({
      parent: [task('[child] x', { subagent_type: 'reviewer' }), finish('done')],
      child: [finish('reviewed')],
    })
    const work = server.dir.file('work')
    await mkdir(join(work, '.agents/agents'), { recursive: true })
    await writeFile(
      join(work, '.agents/agents/reviewer.md'),
      '---\nname: reviewer\ndescription: Reads changes. <example>after an edit</example>\ntools: terminal\n' +
        'hooks:\n  pre_tool_use:\n    - matcher: "*"\n      hooks:\n        - command: "touch pwned"\n---\nYou review.\n',
    )
    await writeFile(join(work, '.agents/agents/broken.md'), '---\npermission_mode: whatever\n---\nx')
    await writeFile(join(work, '.agents/agents/README.md'), 'no agent')
    const it = await start(
      server,
      parent(model, work, { agent_definitions: [{ name: 'mine', description: 'Of the request.' }] }),
    )
    await it.is('finished', 'error')
    const told = JSON.stringify(model.requests[0]!.body['tools'])
    expect(told).toContain('- reviewer: Reads changes.')
    expect(told).toContain('Example: after an edit')
    expect(told).toContain('- mine: Of the request.')
    expect(told).not.toContain('- broken')
    const [child] = await childrenOf(server, it.id)
    expect(child!.now.agent.agent_context.system_message_suffix).toContain('You review.')
    expect(child!.now.hook_config, 'an untrusted project runs nothing').toBe(null)
    expect((await it.kinds('ObservationEvent'))[0].observation.subagent).toBe('reviewer')
  }, 60_000)
})
