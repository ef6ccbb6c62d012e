"""Writes the profiles of this folder with protobuf's own library.

usage: PYTHONPATH=GENERATED profiles.py 1.11.0 OUT    # writes OUT.pb and OUT.json

GENERATED is what protoc makes of opentelemetry-proto at that version: common, resource and profiles.
"""
import sys
v, out = sys.argv[1:]
from google.protobuf import json_format
rel=tuple(int(x) for x in v.split('.'))
exp=rel<(1,4)
if exp:
    from opentelemetry.proto.profiles.v1experimental import profiles_pb2 as pp, pprofextended_pb2 as P
else:
    from opentelemetry.proto.profiles.v1development import profiles_pb2 as pp
    P=pp
own=rel<(1,6)   # tables in profile
new=rel>=(1,8)
data=pp.ProfilesData()
class Tab:
    def __init__(s,d,first): s.d=d; s.strs={}; s.first=first; s.s('')
    def table(s,n):
        for k in ((n+'_table',n)): 
            if hasattr(s.d,k): return getattr(s.d,k)
    def s(s,t):
        if t not in s.strs: s.strs[t]=len(s.strs); s.table('string').append(t)
        return s.strs[t]
def setx(m,**kw):
    for k,val in kw.items():
        names={'type':('type_strindex','type'),'unit':('unit_strindex','unit'),'name':('name_strindex','name'),'file':('filename_strindex','filename'),
          'attrs':('attribute_indices','attributes'),'link':('link_index','link'),'values':('values','value'),'time':('time_unix_nano','time_nanos'),'dur':('duration_nano','duration_nanos')}.get(k,(k,))
        for n in names:
            if hasattr(m,n):
                if isinstance(val,list): getattr(m,n).extend(val)
                else: setattr(m,n,val)
                break
        else: raise Exception(k+' '+str(type(m)))
def fill(t,attrdefs):
    d=t.d
    if new:
        for n in ('mapping','location','function','link','attribute','stack'): t.table(n).add()
    z=1 if new else 0
    m=t.table('mapping').add(); setx(m,memory_start=0x1000,memory_limit=0x5000,file_offset=0x100,file=t.s('/bin/shop'))
    for i,n in enumerate(['main','work','inl']):
        f=t.table('function').add(); setx(f,name=t.s(n),file=t.s(n+'.c'),start_line=i+1)
    locs=[(0x1100,[(0,10)]),(0x1200,[(2,30),(1,20)]),(0x1300,[])]
    for a,ls in locs:
        l=t.table('location').add(); l.mapping_index=z; l.address=a
        for f,n in ls:
            x=(l.lines if hasattr(l,'lines') else l.line).add(); x.function_index=f+z; x.line=n
    k=t.table('link').add(); k.trace_id=bytes(range(16)); k.span_id=bytes(range(8))
    for key,val,unit in attrdefs:
        a=t.table('attribute').add()
        if hasattr(a,'key_strindex') and new: a.key_strindex=t.s(key)
        else: a.key=key
        if isinstance(val,str): a.value.string_value=val
        else: a.value.int_value=val
        if unit:
            if new: a.unit_strindex=t.s(unit)
            else:
                u=d.attribute_units.add(); setattr(u,'attribute_key_strindex' if hasattr(u,'attribute_key_strindex') else 'attribute_key',t.s(key)); setx(u,unit=t.s(unit))
    if exp: m.attributes.append(4)
    else: m.attribute_indices.append(4+z)
    return z
attrs=[('thread.name','w',''),('size',64,'By'),('thread.id',43,''),('cpu.logical_number',3,''),('process.executable.build_id.gnu','abcd12','')]
shared=None
if not own:
    shared=Tab(data.dictionary if hasattr(data,'dictionary') else data,new); z=fill(shared,attrs)
def profile(sp,kind,unit,samples):
    c=sp.profiles.add(); p=c
    if exp:
        c.profile_id=bytes(range(16)); c.start_time_unix_nano=1000; c.end_time_unix_nano=6000
        p=c.profile
    t=shared
    if own: t=Tab(p,False); fill(t,attrs)
    z=1 if new else 0
    st=p.sample_type if new else p.sample_type.add()
    setx(st,type=t.s(kind),unit=t.s(unit))
    if not exp:
        setx(p,time=1000,dur=5000); p.profile_id=bytes(range(1,17))
    p.period=20; setx(p.period_type,type=t.s('cpu'),unit=t.s('nanoseconds'))
    idx=p.location_indices if hasattr(p,'location_indices') else None
    for stack,vals,ts,at,link in samples:
        s=(p.samples if hasattr(p,'samples') else p.sample).add()
        if new:
            st=t.table('stack')
            row=[x+z for x in stack]
            for i,e in enumerate(st):
                if list(e.location_indices)==row: break
            else: i=len(st); st.add().location_indices.extend(row)
            s.stack_index=i
        else:
            s.locations_start_index=len(idx); s.locations_length=len(stack); idx.extend(stack)
        setx(s,values=vals,attrs=[x+z for x in at]); s.timestamps_unix_nano.extend(ts)
        if link: setx(s,link=z)
def resource(name,pid):
    rp=data.resource_profiles.add()
    for k,val in (('service.name',name),('process.pid',pid)):
        a=rp.resource.attributes.add(); a.key=k
        if isinstance(val,str): a.value.string_value=val
        else: a.value.int_value=val
    sp=rp.scope_profiles.add(); sp.scope.name='prof'; sp.scope.version='1'
    return sp
sp=resource('shop',42)
profile(sp,'cpu','nanoseconds',[([1,0],[100],[],[0,1],True),([2,1,0],[-7],[],[],False),([1,0],[5],[],[],False)])
sp=resource('bank',44)
multi=[3,4] if new else [7]
profile(sp,'off_cpu','nanoseconds',[([0],multi,[2000,1500],[2,0,3],False),([1,0],[9],[1700],[2],True)])
if new: profile(sp,'samples','count',[([0],[],[2500,2600],[2],False)])
open(out+'.pb','wb').write(data.SerializeToString(deterministic=True))
open(out+'.json','w').write(json_format.MessageToJson(data,indent=None)+'\n')
open(out+'.txt','w').write(str(data))
