/** Places on a disk whose loss or change is no everyday thing. Pure. Source: agent-core.md 4.7 and its FIX. */
import { posix } from 'node:path'
import { UNKNOWN } from './shell.ts'

/** Folders of the system and of its users. A path below one counts as the folder itself. */
const SYSTEM =
  /^\/(?:etc|usr|var|home|boot|root|opt|bin|sbin|lib(?:32|64|x32)?|dev|proc|sys|mnt|media|Users|System|Library|Applications)(?:\/|$)/
const WORKSPACE = /^(?:\.|\.\/\*|\*|\.\/\.\*)$/
/** Devices that swallow or invent, and terminals. */
const HARMLESS_DEVICE =
  /^\/dev\/(?:null|zero|full|random|urandom|stdin|stdout|stderr|tty[^/]*|ptmx|console|fd(?:\/.*)?|pts(?:\/.*)?|shm(?:\/.*)?|mqueue(?:\/.*)?|tcp\/.*|udp\/.*)$/

/** `path` as seen from `cwd`; home stays `~`. */
export function placeOf(path: string, cwd: string): string {
  const joined = /^[/~]/.test(path) ? path : posix.join(cwd, path)
  return posix.normalize(joined).replace(/(?<=.)\/+$/, '')
}

/**
 * Whether deleting everything under `path` would destroy a system, a home or the workspace as a whole.
 * `workingDir`: the workspace, absolute; what lies within it is its own business, also under /home.
 */
export function isCatastrophic(path: string, cwd: string, workingDir: string | null): boolean {
  const place = placeOf(path, cwd)
  if (place === '/' || place === '~' || place === '~/*' || place === '~/.*' || WORKSPACE.test(place)) return true
  // Of a pattern or an unknown right below the root nobody knows what it leaves.
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

/** A folder that the system itself lives in; unlike `isCatastrophic`, not one where users keep their things. */
export function isSystemFolder(path: string, cwd: string): boolean {
  const place = placeOf(path, cwd).replace(/\/\*$/, '')
  return /^\/?$/.test(place) || (SYSTEM.test(place) && !/^\/(?:home|var|opt|mnt|media|Users)\/./.test(place))
}

/** A device whose content is a disk or a memory. */
export function isRawDevice(path: string): boolean {
  const place = posix.normalize(path)
  return place.startsWith('/dev/') && !HARMLESS_DEVICE.test(place)
}

/** A file that is run at the next login, or that says who may log in. */
export function isEntrance(path: string, cwd: string): boolean {
  const place = placeOf(path, cwd)
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
