/** A conversation with a model that writes its calls as text. Source: agent-core.md 1.14. */
import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startTestServer } from '../../packages/server/testing/server.ts'
import { llmOf, message, start, starting } from '../../packages/server/testing/conversations.ts'

test('a model with prompted tools works, receives the errors of its calls, and finishes', async () => {
  await using model = await startScriptedModel({
    answers: [
      {
        text: 'I write.\n\n<function=terminal>\n<parameter=command>\necho hello > out\ncat out\n</parameter>\n</function>',
      },
      { text: '<function=terminal>\n<parameter=comand>ls</parameter>\n</function>' },
      { text: '<function=bash_tool>\n<parameter=command>ls</parameter>\n</function>' },
      { text: 'Done.\n<function=finish>\n<parameter=message>It is written.</parameter>\n</function>' },
    ],
  })
  await using server = await startTestServer()
  const work = server.dir.file('work')
  const agent = { llm: llmOf(model, { native_tool_calling: false }) }
  const task = await start(server, starting(model, work, { agent, initial_message: message('write') }))
  await task.is('finished', 'error', 'stuck')
  expect(await readFile(`${work}/out`, 'utf8')).toBe('hello\n')
  const events = await task.events()
  const calls = events.filter(({ kind }) => kind === 'ActionEvent')
  expect(calls.map(({ tool_name, action }) => [tool_name, Boolean(action)])).toEqual([
    ['terminal', true],
    ['terminal', false],
    ['bash_tool', false],
    ['finish', true],
  ])
  expect(new Set(calls.map(({ tool_call_id }) => tool_call_id)).size).toBe(4)
  expect(calls[0].thought).toMatchObject([{ text: 'I write.' }])
  const errors = events.filter(({ kind }) => kind === 'AgentErrorEvent').map(({ error }) => error)
  expect(errors[0]).toMatch(/terminal[\s\S]*comand/)
  expect(errors[1]).toMatch(/bash_tool[\s\S]*terminal/)
  expect((await task.info()).execution_status).toBe('finished')

  for (const { body, view } of model.requests) {
    expect(view.tools).toEqual([])
    const messages = body['messages'] as { role: string; tool_calls?: unknown }[]
    expect(messages.every(({ role, tool_calls }) => role !== 'tool' && tool_calls === undefined)).toBe(true)
  }
  expect(model.requests[3]!.text).toContain('EXECUTION RESULT of [terminal]:\\nhello')
  expect(model.violations).toEqual([])
}, 60_000)
