/**
 * The built-in lists of the pattern analyzer: expression, description, detector id. RE2 syntax, case ignored, matched against
 * normalised text. Dangers that need a parse of the command are in `dangers.ts`. Source: agent-core.md 4.6.
 */
import type { PatternEntry } from '@parley/protocol'

const FLAG = String.raw`(?:-{1,2}[a-z][\w=-]*\s+){0,6}`
const SHORT = (first: string, second: string) => `-[a-z]*${first}[a-z]*${second}[a-z]*`
const RECURSIVE = '(?:-[a-z]*r[a-z]*|--recursive)'
const FORCE = '(?:-[a-z]*f[a-z]*|--force)'
/** `rm` as a separate word: not the file `x.rm`, not the flag `--rm`. */
const RM = String.raw`(?:^|[^\w.-])rm\s+${FLAG}`
const pipedToShell = (fetcher: string): string =>
  String.raw`\b${fetcher}\b[^|]{0,200}\|\s*(?:sudo\s+(?:-\S+\s+){0,3})?(?:env\s+)?(?:[\w./]*/)?(?:ba|z|da|k|a)?sh\b`

export const HIGH_PATTERNS: readonly PatternEntry[] = [
  [`${RM}(?:${SHORT('r', 'f')}|${SHORT('f', 'r')})`, 'recursive deletion by force', 'exec.destruct.rm_rf'],
  [
    String.raw`${RM}(?:${RECURSIVE}\s+${FLAG}${FORCE}|${FORCE}\s+${FLAG}${RECURSIVE})(?:\s|$)`,
    'recursive deletion by force',
    'exec.destruct.rm_rf',
  ],
  [String.raw`\bsudo\s+(?:-{1,2}[a-z][\w=-]*\s+){0,4}rm\s`, 'deletion as another user', 'exec.destruct.sudo_rm'],
  [String.raw`\bmkfs\.\w+\s|\bmkfs\s+(?:-\w+\s+\S+\s+){0,4}/dev/`, 'a new file system', 'exec.destruct.mkfs'],
  [
    String.raw`\bdd\s.{0,100}\bof=/dev/(?:[sh]d|x?vd|nvme|mmcblk|r?disk|loop|dm-|mapper/|md\d|k?mem)`,
    'writing to a raw disk',
    'exec.destruct.dd_raw_disk',
  ],
  [String.raw`\beval\s*\(`, 'evaluation of text as code', 'exec.code.eval_call'],
  [String.raw`\bexec\s*\(`, 'execution of text as code', 'exec.code.exec_call'],
  [String.raw`\bos\.system\s*\(`, 'a shell command from Python', 'exec.code.os_system'],
  [
    String.raw`\bsubprocess\.(?:call|run|popen|check_output|check_call)\s*\(`,
    'a subprocess from Python',
    'exec.code.subprocess',
  ],
  [pipedToShell('curl'), 'execution of what was fetched', 'exec.net.curl_pipe_exec'],
  [pipedToShell('wget'), 'execution of what was fetched', 'exec.net.wget_pipe_exec'],
]

export const MEDIUM_PATTERNS: readonly PatternEntry[] = [
  [String.raw`\bcurl\b[^|;&]{0,200}\bhttps?://`, 'a request to the network', 'exec.net.curl'],
  [String.raw`\bwget\b[^|;&]{0,200}\bhttps?://`, 'a download', 'exec.net.wget'],
]

export const INJECTION_HIGH_PATTERNS: readonly PatternEntry[] = [
  [
    String.raw`\b(?:ignore|disregard|forget|override|bypass)\s+(?:all\s+)?(?:of\s+)?(?:the\s+|your\s+|my\s+|these\s+|those\s+)?(?:previous|prior|above)\s+(?:\w+\s+)?(?:instruction|prompt|rule|directive)s?\b`,
    'instructions are to be dropped',
    'inject.override',
  ],
]

export const INJECTION_MEDIUM_PATTERNS: readonly PatternEntry[] = [
  [
    String.raw`\byou\s+are\s+now\s+(?:in\s+)?(?:an?\s+|the\s+)?(?:\w+\s+){0,2}mode\b`,
    'a change of mode',
    'inject.mode_switch',
  ],
  [
    String.raw`\bpretend\s+(?:that\s+)?(?:you\s+are|to\s+be)\s+(?:an?\s+)?(?:different|another)\b`,
    'a change of identity',
    'inject.identity',
  ],
]
