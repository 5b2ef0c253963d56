/** The user, the appearance, the list of keys, and the way out. */
import { ChevronsUpDown, CircleHelp, CircleUser, Keyboard, LogOut, Wrench } from '../ui/icons.ts'
import { useLocation } from 'wouter'
import { useMe } from '../api/me.ts'
import { signOut } from '../api/server.ts'
import { chooseTheme, type Theme, useTheme } from '../lib/theme.ts'
import { ROUTES } from '../routes.ts'
import { Menu, type MenuItem } from '../ui/menu.tsx'
import { en } from '../words/en.ts'

/** The user of a server that has no names of users. */
const ONLY_USER = 'default'
const THEMES: readonly Theme[] = ['system', 'light', 'dark']

type AccountMenuProps = {
  readonly onShowKeys: () => void
  /** Called before a page is opened. */
  readonly onNavigate?: (() => void) | undefined
}

export function AccountMenu({ onShowKeys, onNavigate }: AccountMenuProps) {
  const { data: me } = useMe()
  const theme = useTheme()
  const [, navigate] = useLocation()
  const themes: MenuItem[] = THEMES.map((one) => ({
    label: en.rail.themes[one],
    isChosen: one === theme,
    run: () => chooseTheme(one),
  }))
  const first: MenuItem = {
    label: en.rail.welcome,
    icon: <CircleHelp size={16} aria-hidden />,
    run: () => {
      onNavigate?.()
      navigate(ROUTES.welcome)
    },
  }
  const keys: MenuItem = { label: en.rail.keys, hint: '?', icon: <Keyboard size={16} aria-hidden />, run: onShowKeys }
  const settings: MenuItem = {
    label: en.rail.settings,
    icon: <Wrench size={16} aria-hidden />,
    run: () => {
      onNavigate?.()
      navigate(ROUTES.settings)
    },
  }
  const out: MenuItem = {
    label: en.rail.signOut,
    icon: <LogOut size={16} aria-hidden />,
    // A server that does not answer ends the session when it expires; this browser has forgotten it.
    run: () => void signOut().catch(() => {}),
  }
  return (
    <Menu
      side="above"
      label={en.rail.account}
      triggerClass="rail-account"
      trigger={
        <>
          <CircleUser size={16} aria-hidden />
          <span className="rail-title">{me === undefined || me.user === ONLY_USER ? en.rail.onlyUser : me.user}</span>
          <ChevronsUpDown size={14} aria-hidden />
        </>
      }
      groups={[
        { items: [first] },
        { title: en.rail.theme, items: themes },
        { items: [settings, keys, ...(me === undefined || me.without_keys ? [] : [out])] },
      ]}
    />
  )
}
