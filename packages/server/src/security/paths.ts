/** Classifies paths whose loss or change is dangerous. Pure. Source: agent-core.md 4.7. */
import { posix } from 'node:path'
import { UNKNOWN } from './shell/shell-state.ts'

/** System and user folders, including all paths below them. */
const SYSTEM =
  /^\/(?:etc|usr|var|home|boot|root|opt|bin|sbin|lib(?:32|64|x32)?|dev|proc|sys|mnt|media|Users|System|Library|Applications)(?:\/|$)/
const WORKSPACE = /^(?:\.|\.\/\*|\*|\.\/\.\*)$/
/** Devices without stored content, and terminals. */
const HARMLESS_DEVICE =
  /^\/dev\/(?:null|zero|full|random|urandom|stdin|stdout|stderr|tty[^/]*|ptmx|console|fd(?:\/.*)?|pts(?:\/.*)?|shm(?:\/.*)?|mqueue(?:\/.*)?|tcp\/.*|udp\/.*)$/

/** The absolute or home-relative form of `path`; home stays `~`. */
function resolvePath(path: string, cwd: string): string {
  const joined = /^[/~]/.test(path) ? path : posix.join(cwd, path)
  return posix.normalize(joined).replace(/(?<=.)\/+$/, '')
}

/**
 * True when deleting everything under `path` would destroy a system, a home or the whole workspace.
 * `workingDir`: absolute path of the workspace; paths inside it do not count, not even under /home.
 */
export function isCatastrophic(path: string, cwd: string, workingDir: string | null): boolean {
  const place = resolvePath(path, cwd)
  if (place === '/' || place === '~' || place === '~/*' || place === '~/.*' || WORKSPACE.test(place)) return true
  // A pattern or an unknown part directly below the root may match any folder there.
  const [, first = ''] = place.split('/')
  if (place.startsWith('/') && (/[*?[]/.test(first) || first.includes(UNKNOWN))) return true
  if (place === '..' || place.startsWith('../')) return place.split('/').every((part) => part === '..' || part === '*')
  if (workingDir !== null && place.startsWith('/')) {
    const whole = place.replace(/\/\*$/, '')
    if (`${workingDir}/`.startsWith(`${whole}/`)) return true
    if (place.startsWith(`${workingDir}/`)) return false
  }
  return SYSTEM.test(place)
}

/** True when the path is in a folder of the operating system; unlike `isCatastrophic`, folders of users do not count. */
export function isSystemFolder(path: string, cwd: string): boolean {
  const place = resolvePath(path, cwd).replace(/\/\*$/, '')
  return /^\/?$/.test(place) || (SYSTEM.test(place) && !/^\/(?:home|var|opt|mnt|media|Users)\/./.test(place))
}

/** True when the path is a device for a disk or for memory. */
export function isRawDevice(path: string): boolean {
  const place = posix.normalize(path)
  return place.startsWith('/dev/') && !HARMLESS_DEVICE.test(place)
}

/** True when the file runs at the next login or controls who may log in. */
export function isPersistenceFile(path: string, cwd: string): boolean {
  const place = resolvePath(path, cwd)
  return (
    /(?:^|\/)\.(?:bash_?rc|bash_profile|bash_login|bash_logout|profile|zshrc|zprofile|zshenv|zlogin|cshrc|kshrc|config\/fish\/config\.fish|ssh\/(?:authorized_keys2?|rc))$/.test(
      place,
    ) ||
    /^\/etc\/(?:profile(?:\.d\/.*)?|bash\.bashrc|zshrc|zshenv|environment|passwd|shadow|sudoers(?:\.d\/.*)?|cron.*|ld\.so\.preload|rc\.local|pam\.d\/.*|ssh\/sshd_config)$/.test(
      place,
    ) ||
    place.startsWith('/var/spool/cron/')
  )
}
