/** A data directory with its runner for tests. Processes and files are removed on disposal. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { asConversationId } from '@parley/protocol'
import { tempDir, type TempDir } from '../../testing/temp.ts'
import { until } from '../../testing/until.ts'
import { openLocalWorkspaces, type LocalWorkspacesOptions } from './local-workspaces.ts'
import { rootMark } from './runner/environment.ts'
import { encodeFrame, FrameReader } from './runner/ipc/frames.ts'
import { connectRunner, openPlace } from './runner/ipc/place.ts'
import { endProcesses, findProcesses } from './runner/process-tree.ts'
import type { TerminalRequest, TerminalResult, Workspace, Workspaces } from './workspace.ts'
import { OWNER, testRoots } from '../../testing/roots.ts'

export const never = new AbortController().signal

export type TestWorkspaces = AsyncDisposable & {
  readonly dir: TempDir
  readonly dataDir: string
  readonly workspaces: Workspaces
  /** Another server on the same data directory. */
  another(options?: Partial<LocalWorkspacesOptions>): Workspaces
  open(conversation?: string, epoch?: number, workspaces?: Workspaces): Promise<Workspace>
  /** Pid of the living runner, or null. */
  runnerPid(): Promise<number | null>
  /** Living processes that the data directory's runners have started. */
  processes(): number[]
}

export async function openTestWorkspaces(options: Partial<LocalWorkspacesOptions> = {}): Promise<TestWorkspaces> {
  const dir = await tempDir()
  const dataDir = dir.file('data')
  const opened: Workspaces[] = []
  const another = (other: Partial<LocalWorkspacesOptions> = {}) => {
    const workspaces = openLocalWorkspaces({ dataDir, roots: testRoots(dataDir), ...options, ...other })
    opened.push(workspaces)
    return workspaces
  }
  const workspaces = another()
  return {
    dir,
    dataDir,
    workspaces,
    another,
    open: (conversation = 'c1', epoch = 1, from = workspaces) =>
      from.open(
        {
          conversationId: asConversationId(conversation),
          owner: OWNER,
          workingDir: dir.file('work', conversation),
          epoch,
        },
        never,
      ),
    runnerPid: () => runnerPid(dataDir),
    processes: () =>
      findProcesses({ mark: rootMark(openPlace(dataDir).root), leaders: new Set() }).map(({ pid }) => pid),
    async [Symbol.asyncDispose]() {
      for (const one of opened) await one[Symbol.asyncDispose]()
      await shutDown(dataDir)
      await endProcesses({ mark: rootMark(openPlace(dataDir).root), leaders: new Set() })
      await dir[Symbol.asyncDispose]()
    },
  }
}

async function runnerPid(dataDir: string): Promise<number | null> {
  const socket = await connectRunner(openPlace(dataDir))
  if (socket === null) return null
  try {
    const [data] = (await once(socket, 'data')) as [Buffer]
    return Number(new FrameReader().push(data)[0]?.['pid'])
  } catch {
    // The runner ended before it sent its greeting.
    return null
  } finally {
    socket.on('error', () => undefined)
    socket.destroy()
  }
}

async function shutDown(dataDir: string): Promise<void> {
  const pid = await runnerPid(dataDir)
  const socket = await connectRunner(openPlace(dataDir))
  if (socket === null || pid === null) return
  socket.write(encodeFrame({ id: 1, op: 'shutdown' }))
  socket.resume()
  await once(socket, 'close')
  await processEnd(pid)
}

/** Resolves when the process has ended; a zombie counts as ended. */
export const processEnd = (pid: number): Promise<void> => until(() => !isAlive(pid))

export function isAlive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2))
  } catch {
    // No entry, no process.
    return false
  }
}

let calls = 0

/** Runs a terminal call with a new id, unless `request` has one. */
export function terminal(
  workspace: Workspace,
  command: string,
  request: Partial<TerminalRequest> = {},
  signal = never,
): Promise<TerminalResult> {
  const defaults = { isInput: false, reset: false, timeoutMs: null, noChangeMs: 20_000 }
  return workspace.terminal({ callId: `call-${calls++}`, command, ...defaults, ...request }, signal)
}
