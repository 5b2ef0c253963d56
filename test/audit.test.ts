/** The dependency audit, with possible answers of a registry. */
import { execFile } from 'node:child_process'
import { chmod, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { tempDir } from '../packages/server/testing/temp.ts'

const SCRIPT = fileURLToPath(new URL('../scripts/audit.mjs', import.meta.url))

const advisory = (severity: string, id: string) => ({
  source: 1,
  name: 'left-pad',
  title: 'pads too far',
  url: `https://advisories.example/${id}`,
  severity,
})
const report = (...via: unknown[]) => ({
  auditReportVersion: 2,
  vulnerabilities: { 'left-pad': { name: 'left-pad', via }, above: { name: 'above', via: ['left-pad', ...via] } },
})
const allow = (until: string) => [{ advisory: 'GHSA-1', reason: 'never reached', until }]

test.each<[string, unknown, unknown, number, RegExp]>([
  ['no known vulnerability', report(), [], 0, /0 high or critical, 0 open/],
  ['a moderate vulnerability', report(advisory('moderate', 'GHSA-1')), [], 0, /0 high or critical, 0 open/],
  ['a high vulnerability', report(advisory('high', 'GHSA-1')), [], 1, /high GHSA-1 in left-pad: pads too far \(OPEN\)/],
  [
    'a critical vulnerability of two packages',
    report(advisory('critical', 'GHSA-1')),
    [],
    1,
    /1 high or critical, 1 open/,
  ],
  ['a reviewed vulnerability', report(advisory('high', 'GHSA-1')), allow('2999-01-01'), 0, /allowed: never reached/],
  ['an expired review', report(advisory('high', 'GHSA-1')), allow('2020-01-01'), 1, /OPEN since 2020-01-01/],
  [
    'another one was',
    report(advisory('high', 'GHSA-2')),
    allow('2999-01-01'),
    1,
    /GHSA-1 is allowed and no longer there/,
  ],
  [
    'no reason is given',
    report(),
    [{ advisory: 'GHSA-1', until: '2999-01-01' }],
    1,
    /needs advisory, reason and until/,
  ],
  [
    'no audit',
    { message: '404 Not Found', error: { code: 'E404' } },
    [],
    77,
    /the registry gives no audit \(404 Not Found\)/,
  ],
  ['an unreadable answer', 'oops', [], 77, /the registry gives no audit/],
])('the dependency audit with %s ends with its exit code and says why', async (_, answer, allowed, code, words) => {
  await using dir = await tempDir()
  const text = typeof answer === 'string' ? answer : JSON.stringify(answer)
  await writeFile(dir.file('answer'), text)
  await writeFile(dir.file('npm'), `#!/bin/sh\ncat '${dir.file('answer')}'\nexit 1\n`)
  await chmod(dir.file('npm'), 0o755)
  await writeFile(dir.file('allowed.json'), JSON.stringify(allowed))
  const env = { PATH: `${dir.path}:${process.env['PATH']}`, PARLEY_AUDIT_ALLOWED: dir.file('allowed.json') }
  const [ended, output] = await new Promise<[number, string]>((resolve) => {
    const child = execFile(process.execPath, [SCRIPT], { env }, (_error, stdout, stderr) =>
      resolve([child.exitCode ?? -1, stdout + stderr]),
    )
  })
  expect([ended, output]).toEqual([code, expect.stringMatching(words)])
})
