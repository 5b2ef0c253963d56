/**
 * Drives a started server with the published Python SDK: `npm run conformance:python [-- part of a check's name]`.
 * Creates its own Python environment in the user's cache folder, once. Ends with `N passed, N failed`, exit code 0 or 1;
 * with exit code 77 and one line that names the missing part when there is no such Python or packages cannot be installed.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The release whose wire contract the server implements; PARLEY_CONFORMANCE_SDK names another one. */
const VERSION = process.env.PARLEY_CONFORMANCE_SDK ?? '1.43.1'
/** Dependencies of the actions package that its actions need; the others, above all a browser, are not installed. */
const TOOL_NEEDS = [
  'libtmux',
  'binaryornot',
  'cachetools',
  'filelock',
  'func-timeout',
  'tree-sitter',
  'tree-sitter-bash',
]
const NOT_RUN = 77
const LONGEST_MS = 180_000

const checks = fileURLToPath(new URL('../test/clients/python/conformance.py', import.meta.url))

class Missing extends Error {}

/** Finds a Python of at least 3.12 with `venv`. @throws Missing */
function findPython() {
  const versions = globSync(
    join(process.env.PYENV_ROOT ?? join(homedir(), '.pyenv'), 'versions', '*', 'bin', 'python3'),
  )
  const names = ['python3.13', 'python3.12', 'python3.14', 'python3', 'python']
  const candidates = process.env.PARLEY_PYTHON
    ? [process.env.PARLEY_PYTHON]
    : [...names, ...versions.toSorted().reverse()]
  for (const candidate of candidates) {
    try {
      const program = 'import sys, venv, ensurepip; print(sys.version_info >= (3, 12), "%d.%d" % sys.version_info[:2])'
      const options = { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], timeout: 20_000 }
      const [isEnough, version] = execFileSync(candidate, ['-c', program], options).trim().split(' ')
      if (isEnough === 'True') return { python: candidate, version }
    } catch {
      // Missing, or a shim without an installed version: try the next candidate.
      continue
    }
  }
  throw new Missing('no Python 3.12 or later with venv was found; name one in PARLEY_PYTHON')
}

/** Finds or creates an environment with the SDK. @throws Missing */
function findSdk() {
  const { python, version } = findPython()
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache')
  const folder = join(cache, 'parley', `python-sdk-${VERSION}-py${version}`)
  const inside = join(folder, process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python')
  // Written last, so that a broken installation counts as none.
  const mark = join(folder, 'complete')
  if (existsSync(mark)) return { python: inside, folder }
  console.log(`installing openhands-sdk ${VERSION} into ${folder} …`)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-compile', '--no-input']
  try {
    const quietly = { stdio: ['ignore', 'ignore', 'pipe'], timeout: LONGEST_MS }
    execFileSync(python, ['-m', 'venv', folder], quietly)
    execFileSync(inside, [...pip, `openhands-sdk==${VERSION}`, ...TOOL_NEEDS], quietly)
    execFileSync(inside, [...pip, '--no-deps', `openhands-tools==${VERSION}`], quietly)
  } catch (error) {
    const reason =
      String(error.stderr ?? error)
        .split('\n')
        .findLast((line) => /error/i.test(line)) ?? 'no reason was given'
    throw new Missing(`openhands-sdk ${VERSION} could not be installed: ${reason.trim().slice(0, 200)}`)
  }
  writeFileSync(mark, '')
  return { python: inside, folder }
}

async function run({ python, folder: home }) {
  const { startPlace } = await import('../test/clients/python/place.ts')
  const folder = mkdtempSync(join(tmpdir(), 'parley-conformance-'))
  await using place = await startPlace(folder)
  const { PATH, HOME, LANG } = process.env
  const child = spawn(python, [checks, ...process.argv.slice(2)], {
    cwd: folder,
    stdio: ['ignore', 'inherit', 'pipe'],
    env: {
      PATH: PATH.split(delimiter)
        .filter((each) => !each.includes('node_modules'))
        .join(delimiter),
      HOME,
      LANG,
      TZ: 'UTC',
      // Beside the environment, so that nothing is written into this repository.
      PYTHONPYCACHEPREFIX: join(home, 'pycache'),
      PARLEY_CONFORMANCE: JSON.stringify(place.told),
      // Otherwise the SDK requests prices from other hosts and prints a banner.
      LITELLM_LOCAL_MODEL_COST_MAP: 'True',
      OPENHANDS_SUPPRESS_BANNER: '1',
      LOG_LEVEL: 'CRITICAL',
    },
  })
  let words = ''
  child.stderr.setEncoding('utf8').on('data', (text) => (words = (words + text).slice(-20_000)))
  const late = setTimeout(() => child.kill('SIGKILL'), LONGEST_MS)
  const [code] = await once(child, 'exit')
  clearTimeout(late)
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  if (code !== 0 && code !== 1) console.error(`${words}\nthe checks ended before their end (exit code ${code})`)
  return code === 0 ? 0 : 1
}

try {
  process.exitCode = await run(findSdk())
} catch (error) {
  if (!(error instanceof Missing)) throw error
  console.log(`conformance:python was not run: ${error.message}`)
  process.exitCode = NOT_RUN
}
