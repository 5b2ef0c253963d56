/** A process that opens a workspace, runs one call and prints its result. Arguments: data dir, working dir, epoch, call as JSON, program of the runner. */
import { asConversationId } from '@parley/protocol'
import { openLocalWorkspaces } from './local-workspaces.ts'
import type { ExecRequest, TerminalRequest } from './workspace.ts'
import { OWNER, testRoots } from '../../testing/roots.ts'

type Call = { terminal: TerminalRequest } | { exec: ExecRequest } | { spawn: ExecRequest }

const [dataDir = '', workingDir = '', epoch = '1', call = '{}', runnerEntry] = process.argv.slice(2)
const signal = new AbortController().signal
await using workspaces = openLocalWorkspaces({
  dataDir,
  roots: testRoots(dataDir),
  ...(runnerEntry === undefined ? {} : { runnerEntry }),
})
const workspace = await workspaces.open(
  { conversationId: asConversationId('c1'), owner: OWNER, workingDir, epoch: Number(epoch) },
  signal,
)
const what = JSON.parse(call) as Call
if ('terminal' in what) console.log(JSON.stringify(await workspace.terminal(what.terminal, signal)))
else if ('exec' in what) console.log(JSON.stringify(await workspace.exec(what.exec, signal)))
else console.log(JSON.stringify({ pid: (await workspace.spawn(what.spawn, signal)).pid }))
if ('spawn' in what) setInterval(() => undefined, 1_000)
