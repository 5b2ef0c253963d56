/** Rules for requests that the server sends for its users. */
import type { MutatedFile } from '../mutant.ts'

const at = (name: string) => `packages/server/src/egress/${name}`

export const egress: readonly MutatedFile[] = [
  {
    file: at('address-class.ts'),
    tests: [at('address-class.test.ts')],
    mutants: [
      { before: "  unspecified: 'loopback',", after: '' },
      { before: "  carrierGradeNat: 'private',", after: '' },
      { before: "  linkLocal: 'link-local',", after: '' },
      { before: "if (METADATA_TEXTS.has(address.toNormalizedString())) return 'metadata'", after: '' },
      { before: "=== 'public' ? 'reserved' : addressClass(inner)", after: "=== 'public' ? 'reserved' : 'reserved'" },
      { before: 'address.match(GLOBAL_UNICAST)', after: 'true' },
      { before: "=== 'rfc6052'", after: "=== 'none'" },
      { before: "=== '6to4'", after: "=== 'none'" },
      { before: ".replace(/%.*$/, '')", after: '' },
      { before: 'address.isIPv4MappedAddress() ? address.toIPv4Address() : address', after: 'address' },
      { before: 'base.kind() === address.kind() && ', after: '' },
    ],
  },
  {
    file: at('rules.ts'),
    tests: [at('rules.test.ts')],
    mutants: [
      { before: "found === 'metadata' || ", after: '' },
      { before: " || found === 'link-local'", after: '' },
      { before: '!isSensitive || host === address', after: 'true' },
      { before: "found !== 'loopback' && !isSensitive", after: '!isSensitive' },
      { before: "rules.includes('any') && !isSensitive", after: "rules.includes('any')" },
      { before: "rules.includes('public') && found === 'public'", after: "found === 'public'" },
      { before: "addressClass(address) ?? 'reserved'", after: "addressClass(address) ?? 'public'" },
      { before: "text.includes('/') && ", after: '' },
    ],
  },
  {
    file: at('agents.ts'),
    tests: [at('egress.test.ts')],
    mutants: [
      { before: 'isIP(host) === 0 ? null : refusal(host)', after: 'null' },
      { before: 'lookup: checkedLookup(refusal)', after: '' },
      { before: 'url.origin === origin && ', after: '' },
      { before: ".startsWith(pathname.replace(/\\/*$/, '/'))", after: ".startsWith(pathname.replace(/\\/*$/, ''))" },
      { before: 'const key = `${url.protocol} ${isOwn}`', after: 'const key = url.protocol' },
    ],
  },
  {
    file: at('address-form.ts'),
    tests: [at('address-form.test.ts')],
    mutants: [
      { before: "url.protocol !== 'http:' && url.protocol !== 'https:'", after: 'false' },
      { before: 'if (base !== null && covers(base, url)) return', after: '' },
      { before: '|| (url.protocol', after: '|| (false && url.protocol' },
      { before: 'if (refused !== null)', after: 'if (false)' },
      { before: 'if (FOREIGN.has(name)) continue', after: '' },
      { before: "if (isServers && typeof item === 'string')", after: 'if (false)' },
      { before: "holder['kind'] === 'LookupSecret' ? null : 'mcp'", after: "'mcp'" },
      { before: "name === 'host' && holder['kind'] === 'RemoteWorkspace'", after: "name === 'host'" },
      { before: "name === 'host' && holder['kind'] === 'RemoteWorkspace'", after: 'false' },
      { before: "'host' && holder['kind'] === 'RemoteWorkspace' ? 'other' : null", after: "'none' ? 'other' : null" },
    ],
  },
  {
    file: 'packages/server/src/http/core/route.ts',
    tests: ['test/attacks/egress.test.ts'],
    mutants: [{ before: "if (row.namesAddresses === true && json?.kind === 'value')", after: 'if (false)' }],
  },
]
