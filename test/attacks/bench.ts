/** A server with the files of one user, and what another user's key gets of them. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { git } from '../../packages/server/testing/two-user-server.ts'
import { serve, type Answered, type Serving } from '../../packages/server/testing/multi-user-server.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'

/** In every file of ann, and nowhere else. */
export const ANNS = 'only-for-ann'
export type Who = 'ann' | 'bob' | 'reader'

/** The attacks start more conversations in a minute than a user may. */
const UNLIMITED = JSON.stringify({ '*': { starts_per_minute: 0 } })

export type AttackBench = AsyncDisposable & {
  serving: Serving
  /** Parent of the data directory; bob's directory `bob` is in it. */
  dir: (...parts: string[]) => string
  data: (...parts: string[]) => string
  /** Ann's conversation and its workspace, a repository with `secret.txt`. */
  conversation: string
  workspace: string
  as: (who: Who, method: string, path: string, body?: unknown) => Promise<Answered>
}

/** A server in the mode `shared`. `settings`: environment of the server. Bob's directory has links to all that he should not reach. */
export async function openAttackBench(settings: Record<string, string> = {}): Promise<AttackBench> {
  await using stack = new AsyncDisposableStack()
  const temporary = stack.use(await tempDir())
  const home = temporary.file('home')
  mkdirSync(join(home, '.ssh'), { recursive: true })
  writeFileSync(join(home, '.ssh', 'id'), ANNS)
  const data = (...parts: string[]) => temporary.file('data', ...parts)
  const serving = stack.use(
    await serve(data(), { HOME: home, PARLEY_MODE: 'shared', PARLEY_USER_LIMITS: UNLIMITED, ...settings }),
  )
  const as: AttackBench['as'] = (who, method, path, body) =>
    serving.call(method, path, body, { key: serving.keys[who], headers: { prefer: 'wait=20' } })
  const { conversation_id: conversation } = (await as('ann', 'POST', '/api/conversations', {})).json
  const workspace = data('workspaces', conversation)
  mkdirSync(workspace, { recursive: true })
  await git(workspace, 'init', '-q')
  writeFileSync(join(workspace, 'secret.txt'), ANNS)
  mkdirSync(join(workspace, ANNS))
  await git(workspace, 'add', '.')
  await git(workspace, 'commit', '-qm', ANNS)
  const bobs = temporary.file('bob')
  mkdirSync(bobs)
  await git(bobs, 'init', '-q')
  for (const [name, target] of Object.entries(linkTargets({ data, home, workspace })))
    symlinkSync(target, join(bobs, name))
  const owned = stack.move()
  return {
    serving,
    dir: (...parts) => temporary.file(...parts),
    data,
    conversation,
    workspace,
    as,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

type Places = { data: AttackBench['data']; home: string; workspace: string }

/** What no other user may reach, by the name of bob's link to it. */
const linkTargets = ({ data, home, workspace }: Places): Record<string, string> => ({
  'to-workspace': workspace,
  'to-secret': join(workspace, 'secret.txt'),
  'to-key': data('secret-key'),
  'to-data': data(),
  'to-home': home,
  'to-ssh': join(home, '.ssh'),
  'to-root': '/',
  'to-nothing': data('workspaces', 'fresh'),
})

/** Directories that bob may not name, spelled in every way. */
export function closedDirectories({ dir, data, workspace }: AttackBench): string[] {
  return [
    workspace,
    join(workspace, '.'),
    `${dir('bob')}/../data/workspaces/${workspace.slice(-36)}`,
    data('workspaces'),
    data('runner'),
    data('conversations'),
    data('users'),
    data(),
    dir(),
    dir('home'),
    dir('home', '.ssh'),
    '/',
    '/proc/self',
    ...['to-workspace', 'to-data', 'to-home', 'to-ssh', 'to-root', 'to-nothing'].map((name) => dir('bob', name)),
    dir('bob', 'to-data', 'workspaces', workspace.slice(-36)),
    dir('bob', 'to-root', ...workspace.split('/')),
  ]
}

/** Files that bob may not name. */
export function closedFiles(bench: AttackBench): string[] {
  const { dir, data, workspace } = bench
  return [
    join(workspace, 'secret.txt'),
    data('secret-key'),
    data('parley.db'),
    data('parley.db-wal'),
    data('first-key'),
    dir('home', '.ssh', 'id'),
    dir('home', '.netrc'),
    '/proc/self/environ',
    `/proc/${bench.serving.server.process.pid}/environ`,
    dir('bob', 'to-secret'),
    dir('bob', 'to-key'),
    dir('bob', 'to-workspace', 'secret.txt'),
    dir('bob', 'to-nothing', 'file'),
  ]
}
