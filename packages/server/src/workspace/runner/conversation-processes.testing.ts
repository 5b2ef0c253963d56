/** The processes of one conversation, without a runner around them, and requests for programs. */
import { tempDir, type TempDir } from '../../../testing/temp.ts'
import { ConversationProcesses } from './conversation-processes.ts'
import type { ExecSpec, ProcessSpec, TerminalSpec } from './ipc/protocol.ts'
import type { Reply } from './ipc/reply.ts'
import { Ledger } from './ledger/ledger.ts'
import type { Holder } from './pipes.ts'
import { Sandbox } from './sandbox/sandbox.ts'

export type TestProcesses = AsyncDisposable & {
  /** Working directory of the programs, and folder of the ledger. */
  readonly dir: TempDir
  readonly ledger: Ledger
  /** Those of the conversation `c`. */
  readonly processes: ConversationProcesses
}

/** Disposal ends the processes. */
export async function openProcesses(): Promise<TestProcesses> {
  const dir = await tempDir()
  const ledger = new Ledger(dir.path)
  const processes = new ConversationProcesses('c', {
    root: dir.path,
    home: dir.path,
    ledger,
    sandbox: new Sandbox({ home: dir.path, proxies: dir.path }, null),
    account: null,
    onChange: () => undefined,
  })
  return {
    dir,
    ledger,
    processes,
    async [Symbol.asyncDispose]() {
      await processes.release()
      ledger.close()
      await dir[Symbol.asyncDispose]()
    },
  }
}

type Answered = { ok: object } | { refused: string }

export type TestReply = {
  readonly reply: Reply
  readonly answered: Promise<Answered>
  /** Output that was sent until now. */
  output(): string
}

/** A reply that tells when it was answered; `onOk` runs at the moment of a positive answer. */
export function newReply({ epoch = 1, onOk = () => undefined as unknown } = {}): TestReply {
  const { promise, resolve } = Promise.withResolvers<Answered>()
  const chunks: Buffer[] = []
  let isOpen = true
  const answer = (answered: Answered) => {
    isOpen = false
    resolve(answered)
  }
  const reply: Reply = {
    epoch,
    get isOpen() {
      return isOpen
    },
    live: () => undefined,
    chunk: (_, data) => void chunks.push(data),
    ok(ok) {
      onOk()
      answer({ ok })
    },
    refuse: (refused) => answer({ refused }),
  }
  return { reply, answered: promise, output: () => String(Buffer.concat(chunks)) }
}

export const programSpec = (dir: TempDir, ...argv: string[]): ProcessSpec => ({ argv, cwd: dir.path, env: {} })

export const execSpec = (dir: TempDir, ...argv: string[]): ExecSpec => ({
  ...programSpec(dir, ...argv),
  stdin: null,
  timeoutMs: null,
  maxBytes: 1_000,
})

export const terminalSpec = (cwd: string, command: string): TerminalSpec => ({
  callId: 'call',
  command,
  isInput: false,
  reset: false,
  timeoutMs: null,
  noChangeMs: 20_000,
  cwd,
})

export const noHolder: Holder = { send: () => true }

/** Requests a shell script under the call id `call`. Resolves, or rejects, as the request does inside the runner. */
export type Ask = (here: TestProcesses, script: string, reply: Reply) => Promise<unknown>

export const askExec: Ask = ({ dir, processes }, script, reply) =>
  processes.exec('call', execSpec(dir, 'sh', '-c', script), reply)

export const askSpawn: Ask = ({ dir, processes }, script, reply) =>
  processes.spawn('call', programSpec(dir, 'sh', '-c', script), noHolder, reply, () => 1)

export const askTerminal: Ask = ({ dir, processes }, script, reply) =>
  processes.terminal(terminalSpec(dir.path, script), reply)
