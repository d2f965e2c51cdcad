package kubetest

import (
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// WriteKubeconfig writes an administrator's connection to a file, for programs. The audit log has their writes under
// the user's name.
func (s *Server) WriteKubeconfig(file, user string) error {
	return s.writeKubeconfig(file, clientcmdapi.AuthInfo{
		Token: s.Config.BearerToken, Impersonate: user, ImpersonateGroups: []string{"system:masters"},
	})
}

// writeKubeconfig writes a connection with the given authentication.
func (s *Server) writeKubeconfig(file string, as clientcmdapi.AuthInfo) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{Server: s.Config.Host, CertificateAuthorityData: s.Config.CAData}
	config.AuthInfos["test"] = &as
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	config.CurrentContext = "test"
	return clientcmd.WriteToFile(*config, file)
}
