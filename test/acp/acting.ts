/** Conversations led by a scripted ACP agent, over HTTP. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { AcpScript } from '../../packages/server/testing/scripted-acp-agent.ts'
import type { TestServer } from '../../packages/server/testing/server.ts'
import type { TempDir } from '../../packages/server/testing/temp.ts'
import { until } from '../crash/watching.ts'
import { conversation, message } from '../run/running.ts'

export const AGENT = fileURLToPath(new URL('../../packages/server/testing/scripted-acp-agent.ts', import.meta.url))

type Place = {
  dir: Pick<TempDir, 'file'>
  call: TestServer['call'] | ((method: string, path: string, body?: unknown) => Promise<{ status: number; body: any }>)
}

let scripts = 0

/** A script in a file, and what the agent that followed it has heard. */
export function script(dir: Pick<TempDir, 'file'>, content: AcpScript) {
  const file = dir.file(`agent-${scripts++}.json`)
  const write = (next: AcpScript) => writeFileSync(file, JSON.stringify(next))
  write(content)
  const log = (): any[] => {
    if (!existsSync(`${file}.log`)) return []
    const lines = readFileSync(`${file}.log`, 'utf8').split('\n')
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line))
  }
  const of = (method: string): any[] => log().filter((entry) => entry.method === method)
  return {
    file,
    write,
    log,
    of,
    /** Each process with its environment. */
    starts: () => log().filter(({ event }) => event === 'start'),
    decided: () => log().filter(({ event }) => event === 'decided'),
    /** Texts of each prompt. */
    prompts: () =>
      of('session/prompt').map(({ params }) => params.prompt.map((block: any) => block.text ?? block.type)),
    agent: (members: object = {}) => ({
      kind: 'ACPAgent',
      acp_command: [process.execPath, AGENT],
      acp_args: [file],
      // Nothing but what a test is about.
      security_policy_filename: '',
      ...members,
    }),
  }
}

export type Script = ReturnType<typeof script>

/** Starts a conversation; its first message is `text`, if there is one. */
export async function begin(
  server: Place,
  acp: Script,
  text: string | null = 'hello',
  { agent = {}, ...members }: Record<string, any> = {},
) {
  const request = {
    workspace: { working_dir: server.dir.file('work') },
    agent: acp.agent(agent),
    autotitle: false,
    ...(text === null ? {} : { initial_message: { ...message(text), run: true } }),
    ...members,
  }
  const { status, body } = await server.call('POST', '/api/conversations', request)
  if (status !== 201) throw new Error(`not started: ${status} ${JSON.stringify(body)}`)
  return conversation(server as TestServer, body.id)
}

/** Texts that the agent ended its turns with. */
export const finishes = (events: readonly any[]): string[] =>
  events
    .filter(({ kind, action }) => kind === 'ActionEvent' && action?.kind === 'FinishAction')
    .map(({ action }) => action.message)

export const errors = (events: readonly any[]): string[] =>
  events.filter(({ kind }) => kind === 'ConversationErrorEvent').map(({ code }) => code)

/** A program of this name that is the scripted agent: what a known agent is recognised by. Its path. */
export function program(dir: Pick<TempDir, 'file'>, name: string): string {
  mkdirSync(dir.file('bin'), { recursive: true })
  const path = dir.file('bin', name)
  writeFileSync(path, `#!/bin/sh\nexec ${process.execPath} ${AGENT} "$@"\n`, { mode: 0o755 })
  return path
}

/** Whether a process has ended. */
export function gone(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ')[2] === 'Z'
  } catch {
    // No such process.
    return true
  }
}

/** Ends a process at once, and waits until it has. */
export async function kill(pid: number): Promise<void> {
  process.kill(pid, 'SIGKILL')
  await until(() => gone(pid))
}
