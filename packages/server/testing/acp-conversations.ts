/** Conversations with a scripted ACP agent, over HTTP. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { AcpScript } from './scripted-acp-agent.ts'
import type { TestServer } from './server.ts'
import type { TempDir } from './temp.ts'
import { until } from './until.ts'
import { conversation, message } from './conversations.ts'

export const AGENT = fileURLToPath(new URL('./scripted-acp-agent.ts', import.meta.url))

type TestHost = {
  dir: Pick<TempDir, 'file'>
  call: TestServer['call'] | ((method: string, path: string, body?: unknown) => Promise<{ status: number; body: any }>)
}

let scripts = 0

/** Writes a script to a file; the members read the messages that its agent received. */
export function writeScript(dir: Pick<TempDir, 'file'>, content: AcpScript) {
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
    /** The agent processes with their environments. */
    starts: () => log().filter(({ event }) => event === 'start'),
    decided: () => log().filter(({ event }) => event === 'decided'),
    /** The texts of each prompt. */
    prompts: () =>
      of('session/prompt').map(({ params }) => params.prompt.map((block: any) => block.text ?? block.type)),
    agent: (members: object = {}) => ({
      kind: 'ACPAgent',
      acp_command: [process.execPath, AGENT],
      acp_args: [file],
      // No policy, so that prompts have only the texts of the test.
      security_policy_filename: '',
      ...members,
    }),
  }
}

export type Script = ReturnType<typeof writeScript>

/** Starts a conversation with the message `text`; null: without a message. */
export async function startAcpConversation(
  server: TestHost,
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

/** Messages of the finish actions. */
export const finishes = (events: readonly any[]): string[] =>
  events
    .filter(({ kind, action }) => kind === 'ActionEvent' && action?.kind === 'FinishAction')
    .map(({ action }) => action.message)

export const errors = (events: readonly any[]): string[] =>
  events.filter(({ kind }) => kind === 'ConversationErrorEvent').map(({ code }) => code)

/** Installs the scripted agent as a program of this name, as known agents are recognised by name. Returns its path. */
export function installProgram(dir: Pick<TempDir, 'file'>, name: string): string {
  mkdirSync(dir.file('bin'), { recursive: true })
  const path = dir.file('bin', name)
  writeFileSync(path, `#!/bin/sh\nexec ${process.execPath} ${AGENT} "$@"\n`, { mode: 0o755 })
  return path
}

/** True when a process has ended. */
export function hasEnded(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ')[2] === 'Z'
  } catch {
    // The process does not exist.
    return true
  }
}

/** Kills a process and waits for its end. */
export async function kill(pid: number): Promise<void> {
  process.kill(pid, 'SIGKILL')
  await until(() => hasEnded(pid))
}
