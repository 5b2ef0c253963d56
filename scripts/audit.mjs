// Asks the registry for known vulnerabilities of the production dependencies, and fails on high and critical ones without a review.
// `scripts/audit-allowed.json` holds the reviewed ones: advisory, reason, and the date of the next review.
// Exit codes: 0 none open, 1 at least one open, 77 the registry offers no audit.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const NOT_TO_BE_HAD = 77
const GRAVE = new Set(['high', 'critical'])
const LIMIT_MS = 90_000

const root = new URL('..', import.meta.url)
const argv = ['audit', '--omit=dev', '--json', '--fetch-retries=1', '--fetch-timeout=30000']
const { stdout, error } = spawnSync('npm', argv, {
  cwd: root,
  encoding: 'utf8',
  stdio: ['ignore', 'pipe', 'ignore'],
  timeout: LIMIT_MS,
  maxBuffer: 64 * 1024 * 1024,
})
const report = parsed(stdout ?? '')
if (report?.vulnerabilities === undefined) {
  const why = report?.message ?? report?.error?.summary ?? error?.message ?? 'no report'
  console.log(`audit: the registry gives no audit (${String(why).split('\n')[0].slice(0, 200)})`)
  process.exit(NOT_TO_BE_HAD)
}

const today = new Date().toISOString().slice(0, 10)
const allowed = new Map(readAllowed().map((entry) => [entry.advisory, entry]))
const found = advisories(report.vulnerabilities)
const open = found.filter(({ advisory }) => !(allowed.get(advisory)?.until >= today))
for (const { advisory, severity, name, title } of found) {
  const entry = allowed.get(advisory)
  const verdict =
    entry === undefined ? 'OPEN' : entry.until < today ? `OPEN since ${entry.until}` : `allowed: ${entry.reason}`
  console.log(`audit: ${severity} ${advisory} in ${name}: ${title} (${verdict})`)
}
for (const advisory of allowed.keys()) {
  if (!found.some((one) => one.advisory === advisory))
    console.log(`audit: ${advisory} is allowed and no longer there; remove it`)
}
console.log(`audit: ${found.length} high or critical, ${open.length} open`)
process.exit(open.length === 0 ? 0 : 1)

/** High and critical advisories, each once, however many packages depend on it. */
function advisories(vulnerabilities) {
  const known = new Map()
  for (const { via } of Object.values(vulnerabilities)) {
    for (const cause of via) {
      if (typeof cause === 'string' || !GRAVE.has(cause.severity)) continue
      const advisory = cause.url?.split('/').at(-1) ?? String(cause.source)
      known.set(advisory, { advisory, severity: cause.severity, name: cause.name, title: cause.title })
    }
  }
  return [...known.values()]
}

/** Each entry needs a reason and a date. */
function readAllowed() {
  const entries = JSON.parse(
    readFileSync(process.env.PARLEY_AUDIT_ALLOWED ?? new URL('audit-allowed.json', import.meta.url), 'utf8'),
  )
  for (const entry of entries) {
    const { advisory, reason, until } = entry
    if (!advisory || !reason?.trim() || !/^\d{4}-\d{2}-\d{2}$/.test(until ?? ''))
      throw new Error(`audit-allowed.json: ${JSON.stringify(entry)} needs advisory, reason and until (a day)`)
  }
  return entries
}

function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
