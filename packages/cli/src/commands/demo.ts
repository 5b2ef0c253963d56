/** `parley demo`: a whole conversation on this machine with a scripted model. Leaves nothing behind. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Conversation, ParleyClient } from '@parley/client'
import { readConfig, startServer } from '@parley/server'
import { command } from '../args.ts'
import { makeProject, runTest, TASK } from '../demo-project.ts'
import { demoScript } from '../demo-script.ts'
import type { Io } from '../io.ts'
import { render, type View } from '../render.ts'
import { Turn } from '../turn.ts'
import { viewOf, writeLines } from '../view.ts'

/** A demo that takes longer than this fails with a message. */
const DEADLINE_MS = 60_000

export const spec = command({
  usage: 'demo',
  about:
    'Starts a server of its own, lets an agent fix a failing test, checks the result and removes everything again.',
  flags: {},
  words: [0, 0],
  async run(_args, io) {
    // Short, because the path appears in the agent's terminal and in a socket address.
    const folder = await mkdtemp(join(tmpdir(), 'parley-demo-'))
    const stop = new AbortController()
    const forget = io.onSignal(() => stop.abort(new Error('stopped')))
    try {
      return await demo(folder, io, AbortSignal.any([stop.signal, AbortSignal.timeout(DEADLINE_MS)]))
    } finally {
      forget()
      await rm(folder, { recursive: true, force: true, maxRetries: 3 })
    }
  },
})

async function demo(folder: string, io: Io, signal: AbortSignal): Promise<number> {
  const project = join(folder, 'project')
  const view = viewOf(io, project)
  const say = (...lines: string[]) => writeLines(io, lines)
  await makeProject(project)
  const before = await runTest(project, io.env)
  if (before.passes)
    throw new Error('the test of the demo project must fail before the agent has worked, but it passes')

  await using server = await startDemoServer(folder, io)
  const client = new ParleyClient({
    baseUrl: server.url,
    ...(server.firstKey === null ? {} : { apiKey: server.firstKey.key }),
  })
  await say(
    `A project with a failing test is in ${project}.`,
    `A server listens on ${server.url}; no model key is needed.`,
    '',
  )

  const script = join(folder, 'script.json')
  await writeFile(script, JSON.stringify(demoScript(project, io.env), null, 2))
  const { id } = await client.start({
    agent: {
      kind: 'Agent',
      llm: { model: `scripted/${script}` },
      tools: [{ name: 'terminal' }, { name: 'file_editor' }],
    },
    workspace: { kind: 'LocalWorkspace', working_dir: project },
    autotitle: false,
    initial_message: { role: 'user', content: [{ type: 'text', text: TASK }] },
  })
  const conversation = client.conversation(id)
  try {
    const status = await follow(conversation, view, io, signal)
    if (status !== 'finished') throw new Error(`the conversation ended as ${status}, not as finished`)
  } finally {
    await conversation.delete()
  }
  const after = await runTest(project, io.env)
  if (!after.passes) throw new Error(`the conversation finished, but the test still fails:\n${after.output}`)
  await say('', view.paint('green', '✓ The test passes now: checked outside the conversation.'))
  await say(view.paint('dim', 'Everything is removed again. Start your own with: parley serve'))
  return 0
}

async function startDemoServer(folder: string, io: Io): ReturnType<typeof startServer> {
  const dataDir = join(folder, 'data')
  await mkdir(dataDir, { mode: 0o700 })
  // The configuration of this machine must not change the demo, and the runner must not wait for another server.
  const env = { PARLEY_RUNNER_ORPHAN_EXIT_SECONDS: '2' }
  // It runs only the commands of its own script.
  const flags = { port: '0', 'data-dir': dataDir, 'log-level': 'silent', 'allow-root': true }
  return startServer(readConfig({ flags, env, cwd: io.cwd, home: io.home }).config)
}

/** Prints events until the run has ended. Resolves to its last status. */
async function follow(conversation: Conversation, view: View, io: Io, signal: AbortSignal): Promise<string> {
  const turn = new Turn('idle')
  turn.asked()
  for await (const { event } of conversation.events({ after: 0, signal })) {
    turn.see(event)
    await writeLines(io, render(event, view))
    if (turn.isOver) return turn.status
  }
  throw new Error('the conversation disappeared')
}
