/** Places of a workspace that other programs execute, and system calls. Needs bubblewrap. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findBubblewrap, type Workspace } from '../../packages/server/src/workspace/index.ts'
import {
  never,
  openTestWorkspaces,
  terminal,
  type TestWorkspaces,
} from '../../packages/server/src/workspace/workspace.testing.ts'

const found = await findBubblewrap()

describe.skipIf('reason' in found)('protected places of a sandboxed workspace', () => {
  let here: TestWorkspaces
  beforeAll(async () => {
    here = await openTestWorkspaces({ sandbox: { mode: 'auto', network: false } })
  })
  afterAll(() => here[Symbol.asyncDispose]())

  const sh = async (workspace: Workspace, script: string, isOwn = false) => {
    const argv = ['sh', '-c', script]
    const { exit_code, stdout, stderr } = await workspace.exec({ argv, timeoutMs: 20_000, isOwn }, never)
    return { code: exit_code, text: stdout + stderr }
  }
  const git = 'git -c user.name=a -c user.email=a@b.example'

  /** A conversation in a repository with files for other programs. */
  async function openProject(name: string): Promise<{ workspace: Workspace; at: (file: string) => string }> {
    const at = (file: string) => join(here.dir.file('work', name), file)
    mkdirSync(at('.vscode'), { recursive: true })
    writeFileSync(at('.vscode/tasks.json'), '{}')
    writeFileSync(at('.envrc'), 'original\n')
    execFileSync('git', ['init', '-q', '-b', 'main', at('')])
    writeFileSync(at('.git/hooks/pre-commit'), '#!/bin/sh\n', { mode: 0o755 })
    execFileSync('git', ['init', '-q', at('inner')])
    return { workspace: await here.open(name), at }
  }

  test.each([
    ['a hook', 'echo "touch pwned" > .git/hooks/post-checkout'],
    ['a hook that exists', 'echo "touch pwned" > .git/hooks/pre-commit'],
    ['another directory of hooks', 'git config core.hooksPath /tmp/hooks'],
    ['the configuration of git, without git', 'echo "[core] fsmonitor=touch" >> .git/config'],
    [
      'the directory of hooks itself',
      'mv .git/hooks .git/old; rm -rf .git/hooks && mkdir .git/hooks && touch .git/hooks/x',
    ],
    ['the whole directory of git', 'mv .git elsewhere'],
    ['a repository in a directory', 'touch inner/.git/hooks/x'],
    ['a task of an editor', 'echo x > .vscode/tasks.json'],
    ['settings of a shell', 'rm -f .envrc && echo x > .envrc'],
    ['settings of a shell, by a link', 'ln -sf /tmp/other .envrc'],
  ])('a sandboxed command cannot change %s', async (name, script) => {
    const { workspace, at } = await openProject(name.replaceAll(/[ ,]+/g, '-'))
    expect((await sh(workspace, script)).code).not.toBe(0)
    expect(readFileSync(at('.git/hooks/pre-commit'), 'utf8')).toBe('#!/bin/sh\n')
    expect(readFileSync(at('.envrc'), 'utf8')).toBe('original\n')
    expect((await terminal(workspace, script)).exit_code).not.toBe(0)
  })

  test('file tools refuse protected places like commands do, and say why', async () => {
    const { workspace } = await openProject('tools')
    for (const path of ['.git/hooks/new', '.git/config', '.envrc', '.vscode/tasks.json', 'inner/.git/hooks/x'])
      await expect(workspace.writeFile(path, Buffer.from('x'), never)).rejects.toMatchObject({
        code: 'forbidden',
        message: expect.stringContaining('read-only in a sandbox'),
      })
    await workspace.writeFile('src/.vscode/x', Buffer.from('x'), never)
    await workspace.writeFile('.mcp.json', Buffer.from('{}'), never)
    expect(Buffer.from(await workspace.readFile('.envrc', never)).toString()).toBe('original\n')
  })

  test('branches, commits and tags work in a protected repository', async () => {
    const { workspace } = await openProject('daily')
    const day = `echo a > a && git add a && ${git} commit -qm one && git checkout -q -b topic && echo b >> a && ${git} commit -qam two && git checkout -q main && ${git} merge -q topic && git tag v1 && git stash list && git log --format=%s`
    expect(await sh(workspace, day)).toEqual({ code: 0, text: 'two\none\n' })
    expect(await sh(workspace, 'git remote add origin https://git.example/x')).toMatchObject({ code: 128 })
  })

  test('a repository that a command makes is protected once its processes have ended', async () => {
    const workspace = await here.open('fresh')
    expect((await terminal(workspace, 'git init -q . && git config core.editor true && echo made')).output).toBe(
      'made\n',
    )
    // The shell is older than the repository, so it could exchange it while another process starts.
    expect((await sh(workspace, 'touch .git/hooks/early')).code).toBe(0)
    await terminal(workspace, '', { reset: true })
    await terminal(workspace, 'true')
    expect((await sh(workspace, 'touch .git/hooks/late')).code).not.toBe(0)
    expect((await terminal(workspace, 'touch .git/hooks/late')).exit_code).not.toBe(0)
  })

  test('programs of the server can write protected places', async () => {
    const { workspace, at } = await openProject('own')
    expect((await sh(workspace, 'echo restored > .envrc && git config x.y z', true)).code).toBe(0)
    expect(readFileSync(at('.envrc'), 'utf8')).toBe('restored\n')
  })

  test('nothing is left in a workspace by its protection', async () => {
    const at = here.dir.file('work', 'clean')
    const workspace = await here.open('clean')
    await sh(workspace, 'true')
    expect((await sh(workspace, 'ls -A')).text).toBe('')
    rmSync(at, { recursive: true })
  })

  test.skipIf(process.arch !== 'x64').each<[string, string, string]>([
    ['keyctl', '250, 0, 0', 'Operation not permitted'],
    ['bpf', '321, 0, 0, 0', 'Operation not permitted'],
    ['perf_event_open', '298, 0, 0, 0, 0, 0', 'Operation not permitted'],
    ['io_uring_setup', '425, 1, 0', 'Function not implemented'],
    ['userfaultfd', '323, 0', 'Operation not permitted'],
    ['open_by_handle_at', '304, 0, 0, 0', 'Operation not permitted'],
    ['unshare of a user namespace', '272, 0x10000000', 'Operation not permitted'],
    ['mount', '165, 0, 0, 0, 0, 0', 'Operation not permitted'],
    ['a socket to the hypervisor', '41, 40, 1, 0', 'Address family not supported by protocol'],
    ['typing into a terminal', '16, 0, 0x5412, 0', 'Operation not permitted'],
  ])('in a sandbox, the kernel refuses %s', async (_, call, reason) => {
    const workspace = await here.open('calls')
    const { text } = await sh(workspace, `perl -e 'print syscall(${call}), " $!"'`)
    expect(text).toBe(`-1 ${reason}`)
  })

  test('a debugger can trace its own child in a sandbox', async () => {
    const workspace = await here.open('calls')
    const python = `import ctypes,os
pid=os.fork()
if pid==0:
  print(ctypes.CDLL(None).ptrace(0,0,0,0),flush=True); os._exit(0)
os.waitpid(pid,0)`
    await workspace.writeFile('trace.py', Buffer.from(python), never)
    expect(
      (await sh(workspace, 'command -v /usr/bin/python3 >/dev/null && /usr/bin/python3 trace.py || echo 0')).text,
    ).toBe('0\n')
  })

  test('programs of a sandbox are the first that the kernel ends when memory is short', async () => {
    const workspace = await here.open('calls')
    expect((await sh(workspace, 'cat /proc/self/oom_score_adj')).text).toBe('600\n')
  })
})
