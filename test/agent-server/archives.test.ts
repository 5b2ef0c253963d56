/** Archives of workspaces and of conversations, and the credentials that are never in them. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gunzipSync, inflateRawSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findBubblewrap } from '../../packages/server/src/workspace/index.ts'
import { type Bench, git, KEY, startBench } from '../../packages/server/testing/two-user-server.ts'

let server: Bench
beforeAll(async () => {
  server = await startBench()
})
afterAll(() => server[Symbol.asyncDispose]())

const q = encodeURIComponent
const get = (path: string) => fetch(server.url + path, { headers: { 'X-Session-API-Key': KEY } })

type Taken = { status: number; headers: Headers; bytes: Buffer }

async function archive(path: string, query = ''): Promise<Taken> {
  const response = await get(`/api/file/archive?path=${q(path)}${query}`)
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) }
}
const tarball = async (path: string, query = '') => {
  const taken = await archive(path, `&format=tar.gz${query}`)
  return { ...taken, bytes: taken.status === 200 ? gunzipSync(taken.bytes) : taken.bytes }
}

let count = 0
/** Extracts a tar archive into a new directory. */
function unpacked(bytes: Buffer): string {
  const target = server.dir.file(`unpacked-${count++}`)
  mkdirSync(target)
  execFileSync('tar', ['-xf', '-', '-C', target], { input: bytes })
  return target
}
const namesIn = (bytes: Buffer): string[] =>
  execFileSync('tar', ['-tf', '-'], { input: bytes, encoding: 'utf8' }).trim().split('\n')

function write(root: string, path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), text)
}

async function newRepository(name: string, files: Record<string, string> = { 'a.txt': 'a\n' }): Promise<string> {
  const root = server.dir.file(name)
  mkdirSync(root)
  await git(root, 'init', '-q')
  for (const [path, text] of Object.entries(files)) write(root, path, text)
  await git(root, 'add', '.')
  await git(root, 'commit', '-qm', 'base')
  return root
}

/** Every place in which git keeps an address, a header or a password, and the text that is written there. */
const PLACES: Readonly<Record<string, (leak: string) => string>> = {
  '.git/FETCH_HEAD': (leak) => `0123456789 branch 'main' of https://x:${leak}@git.example/a\n`,
  '.git/config.worktree': (leak) => `[http]\n\textraHeader = Authorization: Basic ${leak}\n`,
  '.git/credentials': (leak) => `https://x:${leak}@git.example\n`,
  '.git/logs/HEAD': (leak) => `0 1 Ada <ada@x> 1 +0000\tclone: from https://${leak}@git.example/a\n`,
  '.git/logs/refs/heads/main': (leak) => `0 1 Ada <ada@x> 1 +0000\tpull https://x:${leak}@git.example/a\n`,
  '.git/remotes/old': (leak) => `URL: https://x:${leak}@git.example/a\n`,
  '.git/branches/older': (leak) => `https://x:${leak}@git.example/a\n`,
  '.git/config.lock': (leak) => `[remote "b"]\n\turl = https://x:${leak}@git.example/a\n`,
  '.git/modules/lib/inner/config': (leak) => `[remote "origin"]\n\turl = https://x:${leak}@git.example/lib\n`,
  '.git/modules/lib/inner/HEAD': () => 'ref: refs/heads/main\n',
  '.git/modules/lib/inner/FETCH_HEAD': (leak) => `0123 branch 'main' of https://x:${leak}@git.example/lib\n`,
  '.git/modules/lib/inner/logs/HEAD': (leak) => `0 1 Ada <ada@x> 1 +0000\tclone: from https://${leak}@git.example/l\n`,
  '.git/worktrees/w/config.worktree': (leak) => `[http]\n\tproxy = http://x:${leak}@proxy.example\n`,
  '.git/worktrees/w/logs/HEAD': (leak) => `0 1 Ada <ada@x> 1 +0000\tpull https://x:${leak}@git.example/a\n`,
  '.gitmodules': (leak) => `[submodule "lib"]\n\tpath = lib\n\turl = https://x:${leak}@git.example/lib\n`,
  '.git-credentials': (leak) => `https://x:${leak}@git.example\n`,
  'home/.netrc': (leak) => `machine git.example login x password ${leak}\n`,
  'home/.gitconfig': (leak) => `[http "https://git.example"]\n\textraheader = AUTHORIZATION: bearer ${leak}\n`,
  'mirror.git/config': (leak) => `[remote "origin"]\n\turl = https://x:${leak}@git.example/a\n`,
  'mirror.git/logs/HEAD': (leak) => `0 1 Ada <ada@x> 1 +0000\tfetch https://x:${leak}@git.example/a\n`,
  'mirror.git/HEAD': () => 'ref: refs/heads/main\n',
  'mirror.git/objects/info/packs': () => '\n',
  'mirror.git/refs/heads/kept': () => '0123\n',
}
const leakOf = (index: number): string => `leak${String(index).padStart(2, '0')}x7Qz9`
const LEAK = /leak\d\dx7Qz9/g

/** A repository with a credential in every place. Its branch `logs` and its file `config` are no credentials. */
async function plantedRepository(name: string): Promise<string> {
  const root = await newRepository(name, { 'a.txt': 'a\n', 'app/config': 'port = 1\n' })
  await git(root, 'branch', 'logs')
  await git(root, 'remote', 'add', 'origin', `https://x:${leakOf(90)}@git.example/acme/shop.git?key=${leakOf(91)}`)
  await git(root, 'config', 'http.https://git.example/.extraHeader', `Authorization: Bearer ${leakOf(92)}`)
  await git(root, 'config', `url.https://${leakOf(93)}@git.example/.insteadOf`, 'https://git.example/')
  for (const [index, [path, textOf]] of Object.entries(PLACES).entries()) write(root, path, textOf(leakOf(index)))
  write(root, 'new.txt', 'new\n')
  return root
}

const leaksIn = ({ bytes, headers }: Pick<Taken, 'bytes' | 'headers'>): string[] => [
  ...new Set([...bytes.toString('latin1').matchAll(LEAK), ...JSON.stringify([...headers]).matchAll(LEAK)].flat()),
]

describe('credentials of git', () => {
  let root: string
  beforeAll(async () => {
    root = await plantedRepository('planted')
  })

  test.each<[string, string, string]>([
    ['with the default excludes', '', ''],
    ['of everything', '', '&use_default_excludes=false'],
    ['of the git directory', '.git', '&use_default_excludes=false'],
    ['of the git directory of a submodule', '.git/modules/lib', '&use_default_excludes=false'],
    ['of a bare repository', 'mirror.git', ''],
    ['of a folder with files of the home', 'home', ''],
  ])('a tar.gz %s contains no credential', async (_, path, query) => {
    const taken = await tarball(join(root, path), query)
    expect([taken.status, leaksIn(taken)]).toEqual([200, []])
  })

  test.each(['logs', 'logs/refs', 'remotes'])('the folder .git/%s itself is not archived', async (folder) => {
    const { status, bytes } = await archive(join(root, '.git', folder), '&format=tar.gz')
    expect([status, JSON.parse(bytes.toString()).detail]).toEqual([400, expect.stringContaining('credentials')])
  })

  test.each(['&base_ref=HEAD', '', '&use_default_excludes=false&base_ref=HEAD'])(
    'a git-delta (%s) contains no credential, and all other new files',
    async (query) => {
      const taken = await archive(root, query)
      expect([taken.status, leaksIn(taken)]).toEqual([200, []])
      expect(taken.bytes.toString()).toContain('new.txt')
    },
  )

  test('a patch does not show the credential that a file of the base contains', async () => {
    const at = await newRepository('modules', { '.gitmodules': PLACES['.gitmodules']?.(leakOf(95)) ?? '' })
    write(at, '.gitmodules', '[submodule "lib"]\n\turl = https://git.example/lib\n')
    const taken = await archive(at, '&base_ref=HEAD')
    expect([taken.status, leaksIn(taken)]).toEqual([200, []])
  })

  test('the address in the headers has neither user nor query', async () => {
    const { headers } = await archive(root)
    expect(headers.get('x-archive-repo-remote')).toBe(q('https://git.example/acme/shop.git'))
  })

  test('a whole archive is still a repository, with its branches and files of ordinary names', async () => {
    const { bytes } = await tarball(root, '&use_default_excludes=false')
    const at = join(unpacked(bytes), 'planted')
    expect(await git(at, 'log', '--format=%s', 'logs')).toBe('base')
    expect(readFileSync(join(at, 'app', 'config'), 'utf8')).toBe('port = 1\n')
    expect(await git(at, 'status', '--porcelain', '--', 'a.txt', 'app')).toBe('')
    const manifest = JSON.parse(readFileSync(join(at, 'archive_manifest.json'), 'utf8'))
    expect(manifest).toMatchObject({ format: 'tar.gz', source: 'planted', excludes: [] })
    expect(manifest.omitted).toBeGreaterThan(15)
  })

  test('a page of the workspace cannot read them', async () => {
    const { body } = await server.call('POST', '/api/conversations', {
      workspace: { working_dir: root },
      agent: { llm: { model: 'scripted/none' } },
    })
    const read = async (path: string) => (await get(`/api/conversations/${body.id}/workspace/${path}`)).status
    symlinkSync('.git/config', join(root, 'link.txt'))
    for (const path of ['.git/config', '.git/logs/HEAD', '.git-credentials', 'mirror.git/config', 'link.txt'])
      expect([path, await read(path)]).toEqual([path, 404])
    expect([await read('a.txt'), await read('app/config'), await read('.git/HEAD')]).toEqual([200, 200, 200])
  })
})

describe('contents of a tar.gz', () => {
  test('entries begin with the folder, and a manifest names format, source, counts and excludes', async () => {
    const root = server.dir.file('plain')
    for (const path of ['a/b/secret.txt', 'a/secret.txt', 'build/x', 'lib/build', 'kept/x.log', 'node_modules/m/x'])
      write(root, path, 'four')
    mkdirSync(join(root, 'empty'))
    const { bytes } = await tarball(root, `&exclude=${q('*/secret.txt')}&exclude=${q('*.log')}`)
    const names = namesIn(bytes)
    expect(names.toSorted()).toEqual([
      'plain/',
      'plain/a/',
      'plain/a/b/',
      'plain/a/b/secret.txt',
      'plain/archive_manifest.json',
      'plain/empty/',
      'plain/kept/',
      'plain/lib/',
      'plain/lib/build',
    ])
    const manifest = JSON.parse(readFileSync(join(unpacked(bytes), 'plain', 'archive_manifest.json'), 'utf8'))
    expect(manifest).toMatchObject({ format: 'tar.gz', source: 'plain', file_count: 2, total_bytes: 8, omitted: 0 })
    expect(manifest.excludes).toEqual(expect.arrayContaining(['.git/', 'build/', '*/secret.txt', '*.log']))
  })

  test('names with dashes, line breaks, bytes that are no UTF-8 and long paths are kept, and so are links', async () => {
    const root = server.dir.file('-odd')
    const long = `${'d'.repeat(90)}/${'e'.repeat(90)}/f`
    for (const name of ['--checkpoint=1', 'two\nlines', long, '-C']) write(root, name, 'x')
    writeFileSync(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xff, 0xfe])]), 'x')
    symlinkSync('/etc/passwd', join(root, 'link'))
    const { status, bytes } = await tarball(root)
    expect(status).toBe(200)
    const at = join(unpacked(bytes), '-odd')
    expect(readFileSync(join(at, long), 'utf8')).toBe('x')
    const listed = execFileSync('ls', ['-a'], { cwd: at, encoding: 'latin1' })
    expect(listed).toContain('--checkpoint=1')
    expect(listed).toContain('\xff\xfe')
    expect(readlinkSync(join(at, 'link'))).toBe('/etc/passwd')
  })

  test('a file of the workspace with the name of the manifest is kept', async () => {
    const root = server.dir.file('owned')
    write(root, 'archive_manifest.json', 'mine')
    const { bytes } = await tarball(root)
    expect(namesIn(bytes)).toEqual(['owned/', 'owned/archive_manifest.json'])
    expect(readFileSync(join(unpacked(bytes), 'owned/archive_manifest.json'), 'utf8')).toBe('mine')
  })

  test.each([[''], ['../x'], ['/']])('the exclude %j is refused', async (pattern) => {
    expect((await archive('/usr/share/doc', `&format=tar.gz&exclude=${q(pattern)}`)).status).toBe(400)
  })
})

describe('git-delta', () => {
  test('a subdirectory gets its own changes alone, and excludes mean the same as in a tar.gz', async () => {
    const root = await newRepository('scoped', { 'in/a': 'a\n', 'out/b': 'b\n' })
    for (const path of ['in/a', 'out/b', 'in/x/secret.txt', 'in/x/y/secret.txt', 'in/lib/build', 'in/build/z'])
      write(root, path, 'changed\n')
    const { headers, bytes } = await archive(join(root, 'in'), `&base_ref=HEAD&exclude=${q('*/secret.txt')}`)
    expect(headers.get('content-type')).toBe('text/x-patch')
    const files = [...bytes.toString().matchAll(/^diff --git a\/(\S+)/gm)].map((match) => match[1])
    expect(files).toEqual(['in/a', 'in/lib/build', 'in/x/y/secret.txt'])
  })

  test('a repository without commits has no base, and a detached head is its own base', async () => {
    const fresh = server.dir.file('fresh')
    mkdirSync(fresh)
    await git(fresh, 'init', '-q')
    write(fresh, 'a', 'a\n')
    const first = await archive(fresh)
    expect([first.status, first.bytes.toString()]).toEqual([200, expect.stringContaining('+a')])
    expect([first.headers.has('x-archive-base-commit'), first.headers.has('x-archive-base-ref')]).toEqual([
      false,
      false,
    ])
    const root = await newRepository('detached')
    await git(root, 'checkout', '-q', '--detach')
    await git(root, 'commit', '-q', '--allow-empty', '-m', 'next')
    const { headers } = await archive(root)
    expect(headers.get('x-archive-branch')).toBe('DETACHED')
    expect(headers.get('x-archive-base-commit')).toBe(await git(root, 'rev-parse', 'HEAD'))
  })

  test('the only repository below a directory is meant, and of two neither', async () => {
    const base = server.dir.file('base')
    mkdirSync(join(base, 'group'), { recursive: true })
    const one = await newRepository('base/group/one')
    write(one, 'a.txt', 'changed\n')
    const { status, headers, bytes } = await archive(base, '&base_ref=HEAD')
    expect([status, headers.get('x-archive-repo-root')]).toEqual([200, q(one)])
    expect(bytes.toString()).toContain('+changed')
    await newRepository('base/two')
    expect((await archive(base)).status).toBe(400)
    expect(namesIn((await tarball(base)).bytes)).toContain('base/group/one/a.txt')
  })

  test('values of headers are percent-encoded', async () => {
    const root = await newRepository("it's (new) ü")
    await git(root, 'checkout', '-q', '-b', 'feature/ä%')
    const { headers } = await archive(root)
    expect(headers.get('x-archive-branch')).toBe('feature%2F%C3%A4%25')
    expect(headers.get('x-archive-repo-root')).toContain('it%27s%20%28new%29%20%C3%BC')
  })
})

test.skipIf('reason' in findBubblewrap())('sandboxed programs make archives, too', async () => {
  await using sandboxed = await startBench({ PARLEY_SANDBOX: 'required' })
  const root = await plantedRepository('boxed')
  for (const query of ['&format=tar.gz&use_default_excludes=false', '&base_ref=HEAD', '']) {
    const path = `${sandboxed.url}/api/file/archive?path=${q(root)}${query}`
    const response = await fetch(path, { headers: { 'X-Session-API-Key': KEY } })
    const sent = Buffer.from(await response.arrayBuffer())
    const bytes = query.includes('tar.gz') ? gunzipSync(sent) : sent
    expect([query, response.status, leaksIn({ bytes, headers: response.headers })]).toEqual([query, 200, []])
    expect(bytes.includes('new.txt')).toBe(true)
  }
})

test('archives of a conversation contain none of its credentials', async () => {
  const root = await plantedRepository('talked')
  const llm = { model: 'scripted/none', api_key: leakOf(70), extra_headers: { Authorization: leakOf(71) } }
  const { status, body } = await server.call('POST', '/api/conversations', {
    workspace: { working_dir: root },
    agent: {
      llm,
      condenser: { kind: 'LLMSummarizingCondenser', llm },
      critic: { kind: 'APIBasedCritic', api_key: leakOf(72) },
      mcp_config: {
        local: { command: 'false', env: { TOKEN: leakOf(73) } },
        web: { url: 'http://127.0.0.1:9/mcp', headers: { 'X-Key': leakOf(74) } },
      },
      agent_context: { secrets: { OF_AGENT: leakOf(75) } },
    },
    secrets: { OF_TALK: leakOf(76) },
    security_analyzer: { kind: 'GraySwanAnalyzer', api_key: leakOf(77) },
  })
  expect(status).toBe(201)
  const zip = await get(`/api/file/download-trajectory/${body.id}`)
  const texts = inflated(Buffer.from(await zip.arrayBuffer()))
  expect(texts).toContain(body.id)
  expect([...texts.matchAll(LEAK)].flat()).toEqual([])
  const plain = await (await get(`/api/conversations/${body.id}/trajectory`)).text()
  expect([...plain.matchAll(LEAK)].flat()).toEqual([])
})

/** The contents of the entries of a zip archive. */
function inflated(bytes: Buffer): string {
  const texts: string[] = []
  for (let at = bytes.indexOf('PK\x03\x04'); at !== -1; at = bytes.indexOf('PK\x03\x04', at + 4)) {
    const from = at + 30 + bytes.readUInt16LE(at + 26) + bytes.readUInt16LE(at + 28)
    texts.push(inflateRawSync(bytes.subarray(from), { finishFlush: 2 }).toString())
  }
  return texts.join('\n')
}
