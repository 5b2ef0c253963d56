import { mkdir, readdir, readFile, stat, symlink, writeFile, chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { asConversationId } from '@parley/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CallProof } from '../call-proof.ts'
import type { Workspace } from '../workspace.ts'
import { until } from '../../../testing/until.ts'
import { never, openRemoteTestWorkspaces, terminal, type RemoteTestWorkspaces } from './bench.testing.ts'

const HOME = join(process.env['HOME'] ?? '/', '.parley-hands')
const ID = '5e000000-0000-4000-8000-000000000001'
let bench: RemoteTestWorkspaces
let workspace: Workspace

beforeAll(async () => {
  bench = await openRemoteTestWorkspaces()
  workspace = await bench.open(ID)
}, 30_000)
afterAll(() => bench[Symbol.asyncDispose](), 30_000)

describe('the terminal', () => {
  test('a remote terminal returns output, exit code, user and host', async () => {
    const result = await terminal(workspace, 'echo out; echo err >&2; (exit 3)')
    expect(result).toMatchObject({
      outcome: 'exited',
      exit_code: 3,
      output: 'out\nerr\n',
      working_dir: bench.work,
      dropped: 0,
    })
    expect(result.shell).toMatchObject({ user: expect.stringMatching(/./), host: expect.stringMatching(/./) })
  })

  test('a remote terminal keeps directory, variables, functions and umask between commands', async () => {
    await terminal(
      workspace,
      `mkdir -p 'a b' && cd 'a b'; X="it's \\$5
two"; export Y=(1 '2 3'); f() { echo "f:$X"; }; umask 077`,
    )
    const { output, working_dir } = await terminal(workspace, 'pwd; f; echo "${Y[1]}"; umask')
    expect(output).toBe(`${bench.work}/a b\nf:it's $5\ntwo\n2 3\n0077\n`)
    expect(working_dir).toBe(`${bench.work}/a b`)
    await terminal(workspace, 'cd ..; umask 022')
  })

  test('a remote command that ends its shell leaves the saved state unchanged', async () => {
    expect(await terminal(workspace, 'X=changed; cd /; exit 4')).toMatchObject({ outcome: 'exited', exit_code: 4 })
    expect((await terminal(workspace, 'pwd')).output).toBe(`${bench.work}\n`)
  })

  test('a syntax error in a remote command is returned as output', async () => {
    const { exit_code, output } = await terminal(workspace, 'if then')
    expect(exit_code).not.toBe(0)
    expect(output).toMatch(/^bash: .*line \d+: syntax error/m)
    expect(output).not.toContain('.parley-hands')
  })

  test('a secret reaches one remote command, and no text or file of the other server', async () => {
    const env = { API_TOKEN: `quo'te"d $HOME \`x\`\n2` }
    const told = await terminal(workspace, 'printf %s "$API_TOKEN" | wc -c; echo "$API_TOKEN" > secret-of-mine', {
      env,
    })
    expect(told.output.trim()).toBe(String(env.API_TOKEN.length))
    expect(await readFile(join(bench.work, 'secret-of-mine'), 'utf8')).toBe(`${env.API_TOKEN}\n`)
    expect((await terminal(workspace, 'echo "[$API_TOKEN]"; env | grep -c API_TOKEN')).output).toBe('[]\n0\n')
    const { body } = await bench.server.call('GET', '/api/bash/bash_events/search?limit=100&sort_order=TIMESTAMP_DESC')
    expect(JSON.stringify(body.items)).not.toContain('quo')
    for (const name of await readdir(join(HOME, ID), { recursive: true })) {
      if (name.endsWith('/in')) continue
      const text = await readFile(join(HOME, ID, name), 'utf8').catch(() => '')
      expect(text.includes('te"d'), name).toBe(false)
    }
    expect((await stat(join(HOME, ID))).mode & 0o077).toBe(0)
  })

  test("the other server's key is masked in the output of commands", async () => {
    const { api_key } = bench.place()
    expect((await terminal(workspace, `echo key=${api_key}`)).output).toBe('key=<secret-hidden>\n')
  })

  test('a limit ends the waiting for a remote command, which can then be observed, typed into and interrupted', async () => {
    const first = await terminal(workspace, 'echo a; read -r x; echo "got $x"; sleep 60; echo never', {
      timeoutMs: 400,
    })
    expect(first).toMatchObject({ outcome: 'running', limit: 'timeout', exit_code: null, output: 'a\n' })
    const refused = await terminal(workspace, 'ls')
    expect(refused).toMatchObject({ outcome: 'refused', busyWith: expect.stringContaining('echo a') })
    expect(await terminal(workspace, 'C-d', { isInput: true })).toMatchObject({ outcome: 'refused' })
    const typed = await terminal(workspace, 'it', { isInput: true, timeoutMs: 400 })
    expect(typed).toMatchObject({ outcome: 'running', output: 'got it\n' })
    expect(await terminal(workspace, '', { noChangeMs: 100 })).toMatchObject({
      outcome: 'running',
      limit: 'silence',
      output: '',
    })
    const ended = await terminal(workspace, 'C-c', { isInput: true })
    expect(ended).toMatchObject({ outcome: 'exited', exit_code: 130, output: '' })
    expect(await terminal(workspace, '')).toMatchObject({ outcome: 'refused' })
    expect(await terminal(workspace, 'x', { isInput: true })).toMatchObject({ outcome: 'refused' })
  })

  test('output of a remote command after a limit is shown by the next one', async () => {
    const waits = (name: string) => `until [ -e gate ]; do sleep 0.05; done; rm gate; echo ${name}`
    const open = () => writeFile(join(bench.work, 'gate'), '')
    await terminal(workspace, waits('late'), { timeoutMs: 0 })
    await open()
    expect(await terminal(workspace, '')).toMatchObject({ output: 'late\n', outcome: 'exited' })
    await terminal(workspace, waits('later'), { timeoutMs: 0 })
    await open()
    for (let isRefused = true; isRefused;) {
      const { outcome, output } = await terminal(workspace, 'echo next')
      isRefused = outcome === 'refused'
      if (!isRefused) expect(output).toBe('later\n[The previous command has ended with exit code 0.]\nnext\n')
    }
  })

  test('a reset ends all remote processes and discards the state of the shell', async () => {
    await terminal(workspace, 'KEPT=1; cd /; sleep 61 & sleep 62', { timeoutMs: 300 })
    const { output, exit_code } = await terminal(workspace, 'echo "[$KEPT]"; pwd; pgrep -f "sleep 6[12]"', {
      reset: true,
    })
    expect(output).toBe(`[]\n${bench.work}\n`)
    expect(exit_code).toBe(1)
  })

  test('long output of a remote command keeps its beginning and its end', async () => {
    const { output, dropped } = await terminal(workspace, 'seq 1 100000')
    expect(output).toMatch(/^1\n2\n[^]*\n99999\n100000\n$/)
    expect(dropped).toBeGreaterThan(300_000)
    const path = await workspace.keepText!('whole.txt', 'öll', never)
    expect((await terminal(workspace, `cat ${path}`)).output).toBe('öll')
  })

  test('a repeated remote call runs its command once, also for another process with the same notes', async () => {
    const call = { callId: 'once' }
    const first = await terminal(workspace, 'echo x >> times; wc -l < times', call)
    expect(await terminal(workspace, 'echo x >> times; wc -l < times', call)).toEqual(first)
    await using other = bench.another()
    const again = await bench.open(ID, { workspaces: other, epoch: 2 })
    expect(await terminal(again, 'echo x >> times; wc -l < times', call)).toMatchObject({ output: '1\n', exit_code: 0 })
    expect(await again.ledger(['once', 'never-sent'], never)).toMatchObject({
      once: { state: 'exited', exit_code: 0 },
      'never-sent': { state: 'absent' },
    })
    await expect(terminal(workspace, 'echo old owner')).rejects.toMatchObject({ code: 'conflict' })
    workspace = await bench.open(ID, { epoch: 3 })
  })
})

/** What a data directory knows whose server has started often. */
const STARTED_OFTEN: Pick<CallProof, 'start' | 'proven'> = { start: 900, proven: async (_, entries) => entries }

test('of the servers that share a store, the newest owner counts, whichever has started more often', async () => {
  await using often = bench.another({ proof: STARTED_OFTEN, isShared: true })
  await using seldom = bench.another({ isShared: true })
  const id = 'b8f1b1a4-6d37-4f2a-9a53-6f1f6b1d2e77'
  const first = await bench.open(id, { workspaces: often, epoch: 1 })
  expect(await terminal(first, 'echo 1')).toMatchObject({ output: '1\n' })
  const second = await bench.open(id, { workspaces: seldom, epoch: 2 })
  expect(await terminal(second, 'echo 2')).toMatchObject({ output: '2\n' })
  await expect(terminal(first, 'echo old')).rejects.toMatchObject({ code: 'conflict' })
  const third = await bench.open(id, { workspaces: often, epoch: 3 })
  expect(await terminal(third, 'echo 3')).toMatchObject({ output: '3\n' })
})

test('an owner that was frozen after it was allowed to begin changes no file, and ends and starts nothing', async () => {
  const id = 'b8f1b1a4-6d37-4f2a-9a53-6f1f6b1d2e79'
  const frozen = await bench.open(id, { epoch: 1 })
  await frozen.writeFile('mine', Buffer.from('first'), never)
  await using other = bench.another()
  const owner = await bench.open(id, { workspaces: other, epoch: 2 })
  await owner.writeFile('mine', Buffer.from('second'), never)
  const going = terminal(owner, 'until [ -e gate ]; do sleep 0.05; done; rm gate; echo ended', { callId: 'going' })
  await until(async () => (await owner.ledger(['going'], never))['going']?.state === 'running')
  const late: (() => Promise<unknown>)[] = [
    () => frozen.writeFile('mine', Buffer.from('late'), never),
    () => frozen.remove('mine', never),
    () => frozen.exec({ argv: ['rm', 'mine'], callId: 'late' }, never),
    () => terminal(frozen, 'rm mine', { reset: true }),
  ]
  for (const change of late) await expect(change()).rejects.toMatchObject({ code: 'conflict' })
  await owner.writeFile('gate', Buffer.from(''), never)
  expect(await going).toMatchObject({ output: 'ended\n', exit_code: 0 })
  expect(Buffer.from(await owner.readFile('mine', never)).toString()).toBe('second')
})

test('a shared store continues with a workspace of a single server that has moved its conversations there', async () => {
  await using alone = bench.another({ proof: STARTED_OFTEN })
  await using shared = bench.another({ isShared: true })
  const id = 'b8f1b1a4-6d37-4f2a-9a53-6f1f6b1d2e78'
  const before = await bench.open(id, { workspaces: alone, epoch: 7 })
  await terminal(before, 'true')
  const after = await bench.open(id, { workspaces: shared, epoch: 8 })
  expect(await terminal(after, 'echo moved')).toMatchObject({ output: 'moved\n' })
})

describe('programs', () => {
  test('a remote program has separate streams, input, variables, a directory and a time limit', async () => {
    const argv = ['sh', '-c', 'cat; echo "$V" >&2; pwd; exit 4']
    await mkdir(join(bench.work, 'sub'), { recursive: true })
    const result = await workspace.exec({ argv, stdin: 'in ', env: { V: "a'b" }, cwd: 'sub' }, never)
    expect(result).toEqual({
      exit_code: 4,
      signal: null,
      stdout: `in ${bench.work}/sub\n`,
      stderr: "a'b\n",
      timedOut: false,
      dropped: { stdout: 0, stderr: 0 },
    })
    expect(await workspace.exec({ argv: ['sleep', '63'], timeoutMs: 200 }, never)).toMatchObject({
      timedOut: true,
      exit_code: null,
    })
    expect(await workspace.exec({ argv: ['no-such-program'] }, never)).toMatchObject({
      exit_code: 127,
      stderr: expect.stringContaining('not found'),
    })
    expect(await workspace.exec({ argv: ['true'], cwd: 'nowhere' }, never)).toMatchObject({ exit_code: 127 })
    const long = await workspace.exec({ argv: ['seq', '1', '100000'], maxBytes: 1000 }, never)
    expect(long.stdout).toMatch(/^1\n[^]*100000\n$/)
    expect(long.dropped.stdout).toBe(588_895 - 1000)
  })

  test('aborting ends a remote program without a call id', async () => {
    const abort = new AbortController()
    const running = workspace.exec({ argv: ['sh', '-c', 'touch started; exec sleep 64'] }, abort.signal)
    while ((await workspace.stat('started', never)) === null) continue
    abort.abort(new Error('called off'))
    await expect(running).rejects.toThrow('called off')
    expect(await workspace.exec({ argv: ['pgrep', '-f', 'sleep 64'] }, never)).toMatchObject({ exit_code: 1 })
  })

  test('a remote program with open pipes is refused', async () => {
    await expect(workspace.spawn({ argv: ['cat'] }, never)).rejects.toMatchObject({ code: 'unsupported' })
  })
})

describe('files', () => {
  test('a remote file is written atomically: its mode stays, a symlink is followed, folders are created', async () => {
    const bytes = Uint8Array.from({ length: 70_000 }, (_, at) => at % 251)
    await workspace.writeFile('deep/er/bytes', bytes, never)
    expect(new Uint8Array(await readFile(join(bench.work, 'deep/er/bytes')))).toEqual(bytes)
    expect(await workspace.readFile('deep/er/bytes', never)).toEqual(bytes)
    const name = `it's "odd" $name\n*`
    await writeFile(join(bench.work, name), 'x')
    await chmod(join(bench.work, name), 0o751)
    await symlink(name, join(bench.work, 'link'))
    await workspace.writeFile('link', Buffer.from('through'), never)
    expect(await readFile(join(bench.work, name), 'utf8')).toBe('through')
    expect(await workspace.stat(name, never)).toMatchObject({ kind: 'file', size: 7, mode: 0o751 })
    expect(await workspace.realPath!('link', never)).toBe(join(bench.work, name))
    expect((await workspace.list('.', never)).find((entry) => entry.name === name)).toEqual({ name, kind: 'file' })
    await workspace.remove('link', never)
    await workspace.remove(name, never)
    expect(await workspace.stat(name, never)).toBeNull()
    expect((await readdir(join(bench.work, 'deep/er'))).toSorted()).toEqual(['bytes'])
  })

  test.each([
    ['not_found', (at: Workspace) => at.readFile('none', never)],
    ['not_found', (at: Workspace) => at.list('none', never)],
    ['not_found', (at: Workspace) => at.remove('none', never)],
    ['bad_request', (at: Workspace) => at.writeFile('deep', new Uint8Array(), never)],
    ['bad_request', (at: Workspace) => at.readFile('deep', never)],
    ['conflict', (at: Workspace) => at.remove('deep', never)],
  ])('a remote file operation that fails is refused as %s', async (code, work) => {
    await expect(work(workspace)).rejects.toMatchObject({ name: 'ParleyError', code })
  })
})

test('releasing a remote conversation ends all its processes and removes its folder', async () => {
  const id = '5e000000-0000-4000-8000-000000000002'
  const released = await bench.open(id)
  await terminal(released, '(setsid sleep 65 &) ; sleep 66', { timeoutMs: 300 })
  await released.release()
  await released.release()
  expect(await workspace.exec({ argv: ['pgrep', '-f', 'sleep 6[56]'] }, never)).toMatchObject({ exit_code: 1 })
  expect(await readdir(HOME)).not.toContain(id)
  const other = bench.another()
  await other.release(asConversationId(id), bench.place({ host: 'http://127.0.0.1:9' }))
  await other[Symbol.asyncDispose]()
})
