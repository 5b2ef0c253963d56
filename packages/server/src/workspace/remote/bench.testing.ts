/** Another agent server, and workspaces on it, for tests. */
import { testEgress } from '../../../testing/requests.ts'
import { asConversationId, RemoteWorkspace as RemotePlace } from '@parley/protocol'
import { openTestNotes } from '../../../testing/call-notes.ts'
import { KEY, startTestServer, type TestServer } from '../../../testing/server.ts'
import { tempDir, type TempDir } from '../../../testing/temp.ts'
import { openLocalWorkspaces } from '../local-workspaces.ts'
import type { TerminalRequest, TerminalResult, Workspace, Workspaces } from '../workspace.ts'
import { openEveryWorkspace, type EveryWorkspacesOptions } from './remote-workspaces.ts'
import { OWNER, testRoots } from '../../../testing/roots.ts'

/** A key that commands of these tests print: what they print is searched for all others. */
const SHOWN_KEY = 'key-that-commands-show-4c21'

export const never = new AbortController().signal

export type RemoteTestWorkspaces = AsyncDisposable & {
  readonly server: TestServer
  readonly dir: TempDir
  /** Working directory on the other side. */
  readonly work: string
  place(change?: Partial<RemotePlace>): RemotePlace
  /** A server like the one before, on the same notes. */
  another(changed?: Partial<Pick<EveryWorkspacesOptions, 'proof' | 'isShared'>>): Workspaces
  open(
    id: string,
    options?: { epoch?: number; place?: Partial<RemotePlace>; workspaces?: Workspaces },
  ): Promise<Workspace>
}

/** @param env settings of the other server */
export async function openRemoteTestWorkspaces(env: Record<string, string> = {}): Promise<RemoteTestWorkspaces> {
  await using stack = new AsyncDisposableStack()
  const dir = stack.use(await tempDir())
  const keys = `${KEY},${SHOWN_KEY}`
  const server = stack.use(await startTestServer({ HOME: dir.path, PARLEY_SESSION_API_KEYS: keys, ...env }))
  const notes = stack.use(await openTestNotes())
  const ids = new Map<string, RemotePlace>()
  const another: RemoteTestWorkspaces['another'] = (changed) => {
    const local = openLocalWorkspaces({ dataDir: dir.file('mine'), roots: testRoots(dir.file('mine')) })
    return openEveryWorkspace({
      local,
      dataDir: dir.file('mine'),
      notes: notes.open,
      isShared: false,
      egress: testEgress,
      log: { warn: () => undefined },
      ...changed,
    })
  }
  const workspaces = stack.use(another())
  stack.defer(async () => {
    for (const [id, place] of ids) await workspaces.release(asConversationId(id), place)
  })
  const work = dir.file('work')
  const place = (change: Partial<RemotePlace> = {}) =>
    RemotePlace.parse({ host: server.url, working_dir: work, api_key: SHOWN_KEY, ...change })
  const open = stack.move()
  return {
    server,
    dir,
    work,
    place,
    another,
    async open(id, options = {}) {
      await notes.of(asConversationId(id))
      const remote = place(options.place)
      if (options.place === undefined) ids.set(id, remote)
      const conversationId = asConversationId(id)
      const spec = { conversationId, owner: OWNER, workingDir: work, epoch: options.epoch ?? 1, remote }
      return (options.workspaces ?? workspaces).open(spec, never)
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

let calls = 0

/** A terminal call with a fresh id, unless it is given. */
export function terminal(
  workspace: Workspace,
  command: string,
  request: Partial<TerminalRequest> = {},
  signal = never,
): Promise<TerminalResult> {
  const defaults = { isInput: false, reset: false, timeoutMs: null, noChangeMs: 10_000 }
  return workspace.terminal({ callId: `call-${calls++}`, command, ...defaults, ...request }, signal)
}
