import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { asConversationId } from '@parley/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTestWorkspaces, processEnd, never, terminal, type TestWorkspaces } from './workspace.testing.ts'
import { OWNER } from '../../testing/roots.ts'

let here: TestWorkspaces
beforeAll(async () => {
  here = await openTestWorkspaces()
})
afterAll(() => here[Symbol.asyncDispose]())

let conversations = 0
const fresh = () => here.open(`local-${conversations++}`)

describe('programs', () => {
  test('a program gets arguments, input, directory and variables, and returns both streams and its exit code', async () => {
    const workspace = await fresh()
    mkdirSync(workspace.resolve('sub'))
    const script = 'cat; pwd; echo "$1 $EXTRA" >&2; exit 5'
    const result = await workspace.exec(
      { argv: ['sh', '-c', script, 'sh', 'a b'], stdin: 'in\n', cwd: 'sub', env: { EXTRA: 'x y' } },
      never,
    )
    expect(result).toEqual({
      exit_code: 5,
      signal: null,
      timedOut: false,
      stdout: `in\n${workspace.resolve('sub')}\n`,
      stderr: 'a b x y\n',
      dropped: { stdout: 0, stderr: 0 },
    })
  })

  test.each<[string, { argv: string[]; cwd?: string }, number, RegExp]>([
    ['not there', { argv: ['no-such-program'] }, 127, /command not found/],
    ['not executable', { argv: ['/etc/passwd'] }, 126, /EACCES/],
    ['in no directory', { argv: ['true'], cwd: 'no-such' }, 127, /does not exist/],
    ['unnamed', { argv: [] }, 127, /no program/],
  ])('a program that is %s returns a result and does not throw', async (_, request, exitCode, reason) => {
    const result = await (await fresh()).exec(request, never)
    expect(result.exit_code).toBe(exitCode)
    expect(result.stderr).toMatch(reason)
  })

  test("variables of the workspace are read for each process, and a request's own take precedence", async () => {
    let author = 'Ann'
    const conversationId = asConversationId('variables')
    const spec = { conversationId, owner: OWNER, workingDir: here.dir.file('variables'), epoch: 1 }
    const env = async () => ({ AUTHOR: author, EDITOR: 'vi' })
    const workspace = await here.workspaces.open({ ...spec, env }, never)
    const argv = ['sh', '-c', 'echo $AUTHOR $EDITOR']
    expect((await workspace.exec({ argv, env: { EDITOR: 'ed' } }, never)).stdout).toBe('Ann ed\n')
    author = 'Bob'
    expect((await workspace.exec({ argv }, never)).stdout).toBe('Bob vi\n')
    expect((await terminal(workspace, 'echo $AUTHOR')).output.trim()).toBe('Bob')
    await using program = await workspace.spawn({ argv }, never)
    expect(await new Response(program.stdout as never).text()).toBe('Bob vi\n')
    await workspace.release()
  })

  test('a program gets an allow-listed environment, not that of the server', async () => {
    const workspace = await fresh()
    const { stdout } = await workspace.exec({ argv: ['env'], env: { NAMED: '1' } }, never)
    const shell = await terminal(workspace, 'env')
    for (const text of [stdout, shell.output]) {
      const names = text.split('\n').flatMap((line) => line.match(/^([A-Za-z_]+)=/)?.[1] ?? [])
      const known =
        /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_.*|TZ|TMPDIR|TERM|SSL_CERT_FILE|SSL_CERT_DIR|NODE_EXTRA_CA_CERTS|(?:AWS|CURL|REQUESTS)_CA_BUNDLE|GIT_SSL_CAINFO|PIP_CERT|NIX_SSL_CERT_FILE|[A-Z]+_(?:HOME|ROOT|DIR)|GO(?:ROOT|PATH)|\w+_(?:proxy|PROXY)|.*PAGER|AI_AGENT|AI_AGENT_RUN|NAMED|PWD|OLDPWD|SHLVL|_|LINES|COLUMNS)$/
      expect(names.filter((name) => !known.test(name))).toEqual([])
      expect(names).toContain('PATH')
    }
    const runner = readFileSync(`/proc/${await here.runnerPid()}/environ`, 'utf8')
    expect(runner).not.toMatch(/VITEST|PARLEY|OH_|API_KEY/)
  })

  test('a program is ended with its whole process group at its time limit', async () => {
    const workspace = await fresh()
    const argv = ['sh', '-c', 'trap "" TERM HUP; sleep 1000 & echo $! $$; wait; sleep 1000']
    const result = await workspace.exec({ argv, timeoutMs: 100 }, never)
    expect(result).toMatchObject({ timedOut: true, exit_code: null, signal: 'SIGKILL' })
    for (const pid of result.stdout.split(/\s+/).filter(Boolean)) await processEnd(Number(pid))
  })

  test('a background process of a program does not keep the caller waiting', async () => {
    const workspace = await fresh()
    const begun = performance.now()
    expect(await workspace.exec({ argv: ['sh', '-c', 'sleep 30 & echo hi'] }, never)).toMatchObject({
      stdout: 'hi\n',
      exit_code: 0,
    })
    expect(performance.now() - begun).toBeLessThan(5_000)
    await workspace.release()
  })

  test('a program without a call id ends when its caller aborts', async () => {
    const workspace = await fresh()
    const controller = new AbortController()
    const waiting = workspace.exec({ argv: ['sh', '-c', 'echo $$ >pid; exec sleep 1000'] }, controller.signal)
    while ((await workspace.stat('pid', never))?.size === undefined)
      await new Promise((resolve) => void setImmediate(resolve))
    controller.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
    await processEnd(Number(readFileSync(workspace.resolve('pid'), 'utf8')))
  })

  test('long output of a program keeps its head and tail', async () => {
    const workspace = await fresh()
    const result = await workspace.exec({ argv: ['seq', '1', '200000'], maxBytes: 1_000 }, never)
    expect(result.stdout.length).toBe(1_000)
    expect(result.stdout).toMatch(/^1\n2\n[^]*\n200000\n$/)
    expect(result.dropped.stdout).toBeGreaterThan(1_000_000)
    const whole = await workspace.exec({ argv: ['seq', '1', '200000'], maxBytes: 10_000_000, callId: 'whole' }, never)
    expect(whole.stdout.split('\n')).toHaveLength(200_001)
  })

  test('a program inherits no terminal of any conversation', async () => {
    const workspace = await fresh()
    await terminal(workspace, 'true')
    const { stdout } = await workspace.exec({ argv: ['sh', '-c', 'ls -l /proc/self/fd'] }, never)
    expect(stdout).not.toMatch(/ptmx|pts/)
  })

  test('programs of many conversations run concurrently', async () => {
    const workspaces = await Promise.all(Array.from({ length: 20 }, fresh))
    const results = await Promise.all(
      workspaces.map((one, i) => one.exec({ argv: ['sh', '-c', `sleep 0.05; echo ${i}; pwd`] }, never)),
    )
    expect(results.map(({ stdout }) => stdout)).toEqual(workspaces.map((one, i) => `${i}\n${one.workingDir}\n`))
  })
})

describe('pipes', () => {
  test('pipes carry bytes unchanged in both directions, also with a slow reader', async () => {
    const workspace = await fresh()
    await using process = await workspace.spawn({ argv: ['cat'] }, never)
    const sent = Buffer.from(Array.from({ length: 3_000_000 }, (_, i) => (i * 7) & 0xff))
    const writing = (async () => {
      const writer = process.stdin.getWriter()
      for (let from = 0; from < sent.length; from += 100_000) await writer.write(sent.subarray(from, from + 100_000))
      await writer.close()
    })()
    const parts: Uint8Array[] = []
    for await (const part of process.stdout) {
      parts.push(part)
      if (parts.length % 10 === 0) await new Promise((resolve) => void setTimeout(resolve, 5))
    }
    await writing
    expect(Buffer.concat(parts).equals(sent)).toBe(true)
    expect(await process.exited).toEqual({ exit_code: 0, signal: null })
  })

  test('pipes report signals and errors, and disposal ends a program that ignores signals', async () => {
    const workspace = await fresh()
    const sleeping = await workspace.spawn({ argv: ['sleep', '1000'] }, never)
    await sleeping.kill('SIGINT')
    expect(await sleeping.exited).toEqual({ exit_code: null, signal: 'SIGINT' })
    await using talking = await workspace.spawn({ argv: ['sh', '-c', 'echo oops >&2; exit 3'] }, never)
    expect(await new Response(talking.stderr).text()).toBe('oops\n')
    expect(await talking.exited).toEqual({ exit_code: 3, signal: null })
    await expect(workspace.spawn({ argv: ['no-such-program'] }, never)).rejects.toMatchObject({ code: 'unavailable' })
    const stubborn = await workspace.spawn({ argv: ['sh', '-c', 'trap "" TERM; while :; do sleep 1; done'] }, never)
    await stubborn[Symbol.asyncDispose]()
    await processEnd(stubborn.pid)
    await stubborn[Symbol.asyncDispose]()
  })
})

describe('files', () => {
  test('a file is written atomically with its parents, and no temporary file remains', async () => {
    const workspace = await fresh()
    await workspace.writeFile('a/b/c.txt', Buffer.from('one'), never)
    expect(Buffer.from(await workspace.readFile('a/b/c.txt', never)).toString()).toBe('one')
    expect(readdirSync(workspace.resolve('a/b'))).toEqual(['c.txt'])
    expect(await workspace.stat('a/b/c.txt', never)).toMatchObject({
      kind: 'file',
      size: 3,
      mode: 0o666 & ~process.umask(),
    })
  })

  test('a written file keeps its mode, and a symlink stays a symlink', async () => {
    const workspace = await fresh()
    const real = workspace.resolve('real.sh')
    writeFileSync(real, 'old')
    chmodSync(real, 0o751)
    symlinkSync('real.sh', workspace.resolve('link'))
    await workspace.writeFile('link', Buffer.from('new'), never)
    expect(readFileSync(real, 'utf8')).toBe('new')
    expect(statSync(real).mode & 0o777).toBe(0o751)
    expect(lstatSync(workspace.resolve('link')).isSymbolicLink()).toBe(true)
    symlinkSync('later', workspace.resolve('dangling'))
    await workspace.writeFile('dangling', Buffer.from('x'), never)
    expect(readFileSync(workspace.resolve('later'), 'utf8')).toBe('x')
    symlinkSync('circle', workspace.resolve('circle'))
    await expect(workspace.writeFile('circle', Buffer.from('x'), never)).rejects.toMatchObject({ code: 'bad_request' })
  })

  test('files are listed by name and kind, and removed', async () => {
    const workspace = await fresh()
    await workspace.writeFile('f', Buffer.from(''), never)
    mkdirSync(workspace.resolve('d'))
    symlinkSync('d', workspace.resolve('to-d'))
    symlinkSync('nowhere', workspace.resolve('to-nothing'))
    expect(await workspace.list('.', never)).toEqual([
      { name: 'd', kind: 'directory' },
      { name: 'f', kind: 'file' },
      { name: 'to-d', kind: 'directory' },
      { name: 'to-nothing', kind: 'other' },
    ])
    await workspace.remove('f', never)
    await workspace.remove('d', never)
    await workspace.remove('to-d', never)
    expect(await workspace.stat('f', never)).toBeNull()
    await expect(workspace.remove('f', never)).rejects.toMatchObject({ code: 'not_found' })
    await expect(workspace.readFile('f', never)).rejects.toMatchObject({ code: 'not_found' })
    await expect(workspace.list('f', never)).rejects.toMatchObject({ code: 'not_found' })
  })
})
